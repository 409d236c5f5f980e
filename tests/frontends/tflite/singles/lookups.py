"""Operators that read or write elements by index."""

from collections.abc import Iterator

import numpy as np

from tests.frontends.tflite.operator_model import (
    Single,
    T,
    f,
    int_input,
    int_scalar,
    integers,
    ints,
    options,
    q,
)


def lookups() -> Iterator[Single]:
    x = f(4, 3, 5)
    yield from [
        Single(
            "gather",
            "GATHER",
            [x, ints([[2, 0], [1, 1]])],
            [f(4, 2, 2, 5)],
            options("GatherOptions", axis=1),
        ),
        Single(
            "gather_batch",
            "GATHER",
            [x, ints([[2, 0], [1, 1], [0, 0], [2, 1]])],
            [f(4, 2, 5)],
            options("GatherOptions", axis=1, batchDims=1),
        ),
        Single("gather_nd", "GATHER_ND", [x, ints([[2, 0], [3, 1]])], [f(2, 5)]),
        Single("scatter_nd", "SCATTER_ND", [ints([[1], [3], [1]]), f(3, 2), ints(5, 2)], [f(5, 2)]),
        Single(
            "sparse_to_dense",
            "SPARSE_TO_DENSE",
            [ints([[0, 1], [2, 3]]), ints(3, 4), f(2), T("float32", (), np.array(0.5))],
            [f(3, 4)],
            options("SparseToDenseOptions"),
        ),
        Single(
            "update_slice",
            "DYNAMIC_UPDATE_SLICE",
            [f(4, 5), f(2, 3), int_input("int32", 2, spread=3)],
            [f(4, 5)],
        ),
        Single(
            "one_hot",
            "ONE_HOT",
            [
                int_input("int32", 2, 3, spread=3),
                int_scalar(4),
                T("float32", (), np.array(2.0)),
                T("float32", (), np.array(-1.0)),
            ],
            [f(2, 4, 3)],
            options("OneHotOptions", axis=1),
        ),
        Single("select", "SELECT", [T("bool", (4,)), f(4, 3), f(4, 3)], [f(4, 3)]),
        Single("select_v2", "SELECT_V2", [T("bool", (4, 1)), f(3), f(4, 3)], [f(4, 3)]),
        Single("where", "WHERE", [T("bool", (4, 3))], [T("int64", (0, 2))]),
        Single("top_k", "TOPK_V2", [f(3, 9), int_scalar(4)], [f(3, 4), T("int32", (3, 4))]),
        Single(
            "unique",
            "UNIQUE",
            [int_input("int32", 12, spread=4)],
            [T("int32", (0,)), T("int32", (12,))],
            options("UniqueOptions", idxOutType=2),
        ),
        Single("segment_sum", "SEGMENT_SUM", [f(5, 3), ints(0, 0, 1, 2, 2)], [f(3, 3)]),
        Single(
            "reverse_sequence",
            "REVERSE_SEQUENCE",
            [f(3, 6, 2), ints(2, 6, 0)],
            [f(3, 6, 2)],
            options("ReverseSequenceOptions", seqDim=1, batchDim=0),
        ),
        Single("matrix_diag", "MATRIX_DIAG", [f(3, 4)], [f(3, 4, 4)]),
        Single("matrix_set_diag", "MATRIX_SET_DIAG", [f(2, 4, 3), f(2, 3)], [f(2, 4, 3)]),
        Single(
            "bucketize",
            "BUCKETIZE",
            [f(4, 6)],
            [T("int32", (4, 6))],
            options("BucketizeOptions", boundaries=[-1.0, 0.0, 0.5, 2.0]),
        ),
        Single(
            "embedding_int8",
            "EMBEDDING_LOOKUP",
            [
                int_input("int32", 5, spread=6),
                q("int8", 7, 4, scale=0.05, value=integers(3, "int8", 7, 4)),
            ],
            [f(5, 4)],
        ),
        Single(
            "range", "RANGE", [int_scalar(2), int_scalar(11), int_scalar(3)], [T("int32", (3,))]
        ),
    ]
    for name, dtype in (
        ("SUM", "float32"),
        ("PROD", "float32"),
        ("MAX", "float32"),
        ("MIN", "float32"),
    ):
        yield Single(
            f"unsorted_{name.lower()}",
            f"UNSORTED_SEGMENT_{name}",
            [f(5, 3), ints(0, 2, 0, 1, 2), int_scalar(3)],
            [T(dtype, (3, 3))],
        )
    boxes = np.array(
        [
            [0, 0, 1, 1],
            [0, 0.1, 1, 1.1],
            [0, -0.1, 1, 0.9],
            [0, 10, 1, 11],
            [0, 10.1, 1, 11.1],
            [0, 100, 1, 101],
        ],
        np.float32,
    )
    nms = [
        f(6, 4, value=boxes),
        f(6),
        int_scalar(4),
        T("float32", (), np.array(0.5)),
        T("float32", (), np.array(-9.0)),
    ]
    yield Single("nms_4", "NON_MAX_SUPPRESSION_V4", nms, [T("int32", (4,)), T("int32", ())])
    yield Single(
        "nms_5",
        "NON_MAX_SUPPRESSION_V5",
        [*nms, T("float32", (), np.array(0.0))],
        [T("int32", (4,)), f(4), T("int32", ())],
    )

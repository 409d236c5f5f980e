"""The dtypes of what nodes give, by their operators and attributes, and the shapes that a file says
of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.frontends.tensorflow.attributes import open_shape
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES, OTHERS, dtype_name

LISTED = "variant"
"""A list of tensors, or a TensorArray, which the spec has as a tensor with one more axis."""
DTYPE_NAMES = frozenset({*DTYPES.values(), *COMPLEX.values(), *OTHERS.values()})
USUAL = ("T=float32",)
"""Most operators give what they take."""


def _all(results: Sequence[str], operators: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(operators.split(), tuple(results))


RESULTS: Mapping[str, Sequence[str]] = {
    **_all(
        ["float32"],
        "CropAndResize FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars"
        " FakeQuantWithMinMaxVarsPerChannel ResizeArea ResizeBicubic ResizeBilinear",
    ),
    **_all(
        ["bool"],
        "All Any ApproximateEqual Equal Greater GreaterEqual InTopK InTopKV2 IsFinite IsInf IsNan"
        " Less LessEqual LogicalAnd LogicalNot LogicalOr NotEqual",
    ),
    **_all(
        ["int32"],
        "Bucketize NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4"
        " Rank TensorArraySizeV3 TensorListLength",
    ),
    **_all(
        [LISTED],
        "EmptyTensorList TensorListFromTensor TensorListPushBack TensorListReserve"
        " TensorListScatterV2 TensorListSetItem",
    ),
    **_all([LISTED], "TensorArrayV3 TensorArrayWriteV3 TensorArrayScatterV3"),
    **_all(
        ["Tout"],
        "BatchMatMulV3 LookupTableFind LookupTableFindV2 If StatelessIf Case StatelessCase",
    ),
    **_all(["Tout=float32"], "Angle ComplexAbs Imag Real"),
    **_all(["Tcomplex=complex64"], "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D RFFT3D"),
    **_all(["Treal=float32"], "IRFFT IRFFT2D IRFFT3D"),
    **_all(["Tparams"], "Gather GatherNd GatherV2"),
    **_all(["Tidx=int32"], "Range UnravelIndex"),
    **_all(["out_type=int32"], "LowerBound Shape ShapeN Size UpperBound"),
    **_all(["output_type=int64"], "ArgMax ArgMin"),
    **_all(
        ["dtype"],
        "Empty ResourceGather ResourceGatherNd TensorArrayGatherV3 TensorArrayReadV3 ReadVariableOp"
        " VariableV2 Variable Const",
    ),
    **_all(["element_dtype"], "TensorListGather TensorListGetItem TensorListStack"),
    **_all(["element_dtype", "int64"], "TensorListConcatV2"),
    **_all(["T=int32"], "BroadcastArgs DataFormatVecPermute InvertPermutation"),
    **_all(["T", "U"], "FusedBatchNormV2 FusedBatchNormV3"),
    **_all(["T", "out_idx=int32"], "ListDiff Unique"),
    "Cast": ("DstT",),
    "CombinedNonMaxSuppression": ("float32", "float32", "float32", "int32"),
    "Conj": ("T=complex64",),
    "Complex": ("Tout=complex64",),
    "HistogramFixedWidth": ("dtype=int32",),
    "MaxPoolWithArgmax": ("T", "Targmax=int64"),
    "NonMaxSuppressionV5": ("int32", "T=float32", "int32"),
    "TensorArrayConcatV3": ("dtype", "int64"),
    "TensorListPopBack": (LISTED, "element_dtype"),
    "TopK": ("T", "int32"),
    "TopKV2": ("T", "index_type=int32"),
    "Where": ("int64",),
}
"""Of the others, by their outputs: a dtype, or the attribute that says it and what it is where the
file leaves it out. The last one goes on.
"""


def dtype_of(node: Any, place: int, listed: Mapping[str, Sequence[str]]) -> str:
    """The dtype of an output, by TensorFlow's name; '' where nothing says it. `listed` is what the
    file says of operators.
    """
    words = RESULTS.get(node.op) or listed.get(node.op) or USUAL
    word, _, default = words[min(place, len(words) - 1)].partition("=")
    if word not in node.attr:
        return default or (word if word in DTYPE_NAMES else "")
    said = node.attr[word]
    codes = [said.type] if said.HasField("type") else list(said.list.type)
    return dtype_name(codes[min(place, len(codes) - 1)]) if codes else ""


def shape_said(node: Any, place: int) -> tuple[int | None, ...] | None:
    """The shape of an output, where the file was saved with shapes."""
    if "_output_shapes" not in node.attr:
        return None
    shapes = node.attr["_output_shapes"].list.shape
    return open_shape(shapes[place]) if place < len(shapes) else None

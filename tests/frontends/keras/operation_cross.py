"""Compare webkiln with Keras for all combinations of keras.ops operations and dtypes, with ordinary
and special values.

`python -m tests.frontends.keras.operation_cross` prints every difference.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
from keras import ops

from tests.frontends.keras.dtype_cross import Found, expected, judge
from tests.frontends.keras.operation_models import BINARY, LOGICAL, POSITIVE, UNARY
from webkiln.errors import UserError
from webkiln.frontends.keras.converter import KerasConverter

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "uint32",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
)
SPECIAL = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    6.0,
    60000.0,
    -300.0,
    1e-7,
)
BOUND = {"float16": 4e-3, "float32": 2e-5, "float64": 2e-5}

REDUCED = (
    "sum mean max min prod amax amin argmax argmin var std any all logsumexp norm softmax"
    " log_softmax normalize moments".split()
)
FREE = frozenset({"sign"})

MORE: Mapping[str, Any] = {
    "relu_8_5": lambda x: keras.activations.relu(x, max_value=8.0, threshold=5.0),
    "clip": lambda x: ops.clip(x, 1, 5),
    "matmul": lambda x: ops.matmul(x, ops.transpose(x)),
    "einsum": lambda x: ops.einsum("ij,kj->ik", x, x),
    "dot": lambda x: ops.dot(x, ops.transpose(x)),
    "moments": lambda x: ops.moments(x, axes=[1]),
    "reverse_scalar": lambda x: 3 - x,
    "half": lambda x: x * 0.5,
    "where": lambda x: ops.where(x > 0, x, 1),
    "concatenate": lambda x: ops.concatenate([x, ops.cast(x, "float32")]),
    "tile": lambda x: ops.tile(x, (1, 2)),
    "pad": lambda x: ops.pad(x, 1),
    **{f"to_{dtype}": lambda x, dtype=dtype: ops.cast(x, dtype) for dtype in DTYPES},
}


def ordinary(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random((3, 4)) < 0.5
    if dtype.startswith("float"):
        return (rng.standard_normal((3, 4)) * 2).astype(dtype)
    return rng.integers(0 if dtype.startswith("u") else -9, 9, (3, 4)).astype(dtype)


def cases() -> Iterator[tuple[str, Any, Sequence[np.ndarray]]]:
    """(name, function, operands)."""
    unary = {
        name: getattr(ops, name)
        for name in [*UNARY, *POSITIVE, "logical_not", "norm", "normalize"]
        if name != "squeeze"
    } | MORE
    for dtype in DTYPES:
        for name, function in unary.items():
            x = ordinary(dtype, 1)
            yield (
                f"{name}({dtype})",
                function,
                [
                    (
                        np.abs(x)
                        if (name in POSITIVE or name.startswith("to_u")) and dtype != "bool"
                        else x
                    )
                ],
            )
            if name in REDUCED:
                yield (
                    f"{name}({dtype}, axis=1)",
                    lambda x, f=function: f(x, axis=1) if f is not ops.moments else f(x, axes=[1]),
                    [x],
                )
            if dtype in ("float16", "float32") and not name.startswith("to_") and name not in FREE:
                with np.errstate(all="ignore"):
                    yield (
                        f"{name}(special {dtype})",
                        function,
                        [np.array([SPECIAL], "float32").T.astype(dtype)],
                    )
        for other in DTYPES:
            for name in [*BINARY, *LOGICAL, "matmul"]:
                a, b = ordinary(dtype, 2), ordinary(other, 3)
                b = b.T if name == "matmul" else b
                if name in ("power", "mod", "floor_divide"):
                    a, b = (
                        np.abs(a) if a.dtype != bool else a,
                        np.abs(b) + 1 if b.dtype != bool else b,
                    )
                yield f"{name}({dtype}, {other})", getattr(ops, name), [a, b.astype(other)]


def attempt(function: Any, operands: Sequence[np.ndarray]) -> Found:
    keras.utils.clear_session(free_memory=False)
    try:
        tensors = [
            keras.Input(batch_shape=x.shape, dtype=x.dtype.name, name=f"x{i}")
            for i, x in enumerate(operands)
        ]
        model = keras.Model(tensors, function(*tensors), name="model")
    except Exception as error:  # noqa: BLE001 - Keras refuses dtypes in many ways
        return Found("no oracle", f"build: {type(error).__name__}")
    wanted = expected(model, operands, declared=False)
    try:
        graph = KerasConverter().convert(model)
        bounds = [BOUND.get(x.dtype.name, 2e-5) for x in (*operands, *(wanted or ()))]
        return judge(graph, operands, wanted, max(bounds))
    except UserError as error:
        return Found("no oracle" if wanted is None else "refused", str(error))
    except Exception as error:  # noqa: BLE001 - a traceback is what the cross looks for
        return Found("wrong", f"{type(error).__name__}: {error}")


def main() -> None:
    counts: Counter[str] = Counter()
    for name, function, operands in cases():
        found = attempt(function, operands)
        counts[found.verdict] += 1
        if found.verdict in ("wrong", "refused"):
            print(f"{name}: {found.verdict}: {found.reason}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()

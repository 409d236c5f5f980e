"""Compare webkiln with Keras for all combinations of layers, input dtypes and dtype policies.

`python -m tests.frontends.keras.dtype_cross [POLICY ...]` runs every case of every layer from
memory, `.keras` and `.h5`.
"""

import logging
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
from keras import layers as L

from tests.frontends.keras import layer_trees
from tests.frontends.keras.cases import randomise
from tests.frontends.keras.layer_cases import LAYER_CASES, LayerCase
from webkiln.errors import UserError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model
from webkiln.ir.graph import Graph
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import infer

BATCH = 2
DTYPES = ("uint8", "int32", "int64", "bool", "float16", "float32", "float64")
POLICIES: Mapping[str, float] = {
    "float32": 2e-5,
    "float64": 2e-5,
    "float16": 2e-2,
    "mixed_float16": 2e-2,
    "bfloat16": 1e-1,
    "mixed_bfloat16": 1e-1,
}
"""The bound of max|difference| / max|Keras| by policy: float16 has 11 significant bits, bfloat16 8,
and Keras rounds at every operation.
"""


ROUNDED = frozenset({"Resizing", "UpSampling2D"})
WRAPPED = frozenset({"GroupNormalization", "LayerNormalization", "SpectralNormalization"})
"""Layers that cast floats back to integers. In TensorFlow, values out of range depend on the length
of the array, and values next to an integer become that integer or the one below.
"""
SUMMED = frozenset({"Dot"})
"""Layers that return integer sums of products; those of small uint8 values fit into uint8."""


@dataclass(frozen=True)
class Found:
    """The result of a case: "right", "refused" by name, "no oracle" if Keras itself fails on it, or
    "wrong" with the reason.
    """

    verdict: str
    reason: str = ""


def inputs_of(
    case: LayerCase, dtype: str, largest: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """uint8 values are below `largest`: sums of large values lose in float16 the digits that an
    activation selects.
    """
    for shape in case.shapes:
        size = (BATCH, *shape)
        if "input_dim" in case.options and not case.call:
            yield rng.integers(
                0, min(2 if dtype == "bool" else 256, case.options["input_dim"]), size
            ).astype(dtype)
        elif dtype == "bool":
            yield rng.random(size) < 0.5
        elif dtype.startswith("float"):
            yield (rng.standard_normal(size) * 1.5).astype(dtype)
        else:
            yield rng.integers(
                0 if dtype == "uint8" else -9, largest if dtype == "uint8" else 9, size
            ).astype(dtype)


def made(
    name: str, case: LayerCase, dtype: str, policy: str
) -> tuple[keras.Model, list[np.ndarray]]:
    keras.utils.clear_session(free_memory=False)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        rng = np.random.default_rng(3)
        exact = policy in ("float32", "float64") or "activation" not in case.options
        arrays = list(inputs_of(case, dtype, 5 if name in SUMMED else 250 if exact else 9, rng))
        tensors = [
            keras.Input(array.shape[1:], dtype=dtype, name=f"x{i}")
            for i, array in enumerate(arrays)
        ]
        options = {
            key: value
            for key, value in case.options.items()
            if not isinstance(value, L.Layer | list) or key == "axis"
        }
        nested = {key: fresh(value) for key, value in case.options.items() if key not in options}
        layer = getattr(L, name)(**options, **nested, name="layer")
        model = keras.Model(
            tensors, layer(tensors if len(tensors) > 1 else tensors[0], **case.call), name="model"
        )
        randomise(model)
        if isinstance(layer, L.Normalization):
            layer.finalize_state()
        return model, arrays
    finally:
        keras.config.set_dtype_policy(before)


def fresh(value: object) -> object:
    """A layer with the same options under the current policy."""
    if isinstance(value, list):
        return [fresh(item) for item in value]
    if not isinstance(value, L.Layer):
        return value
    config = {
        key: item
        for key, item in value.get_config().items()
        if key not in ("dtype", "layer", "cell")
    }
    return type(value).from_config(config)


def expected(
    model: keras.Model,
    arrays: Sequence[np.ndarray],
    case: LayerCase | None = None,
    *,
    declared: bool = True,
) -> list[np.ndarray] | None:
    """The outputs of Keras in the dtypes that it declares (bfloat16 as float32), or None if
    TensorFlow has no kernel for the dtype.
    """
    try:
        if case is not None and case.oracle:
            results = [layer_trees.expected(model.layers[-1], case, list(arrays))]
        else:
            results = keras.tree.flatten(model(arrays, training=False))
    except Exception:  # noqa: BLE001 - it says so in as many ways as it has kernels
        return None
    if not declared:
        return [np.array(result) for result in results]
    dtypes = [
        "float32" if tensor.dtype == "bfloat16" else tensor.dtype
        for tensor in keras.tree.flatten(model.outputs)
    ]
    return [np.array(result).astype(dtype) for result, dtype in zip(results, dtypes, strict=True)]


def judge(
    graph: Graph,
    arrays: Sequence[np.ndarray],
    expected: Sequence[np.ndarray] | None,
    bound: float,
    slack: float = 0.0,
    defined: np.ndarray | bool = True,
) -> Found:
    """`slack` is the permitted absolute difference where Keras rounds a result to an integer: a
    half may be rounded either way. `defined` is true where the result of Keras is the same on every
    processor.
    """
    verify(graph, infer)
    if expected is None:
        return Found("no oracle")
    with np.errstate(all="ignore"):
        got = run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))[0]
    for value, reference in zip(got.values(), expected, strict=True):
        if (value.dtype, value.shape) != (reference.dtype, reference.shape):
            return Found(
                "wrong",
                f"{value.dtype}{list(value.shape)}, Keras has"
                f" {reference.dtype}{list(reference.shape)}",
            )
        inputs, right = (np.where(defined, x.astype("float64"), 0) for x in (value, reference))
        finite = np.isfinite(right)
        if not np.array_equal(inputs[~finite], right[~finite], equal_nan=True):
            return Found("wrong", "not finite where Keras is")
        difference = max(np.abs(inputs[finite] - right[finite]).max(initial=0) - slack, 0) / max(
            np.abs(right[finite]).max(initial=0), 1e-6
        )
        if not difference < bound:
            return Found("wrong", f"error {difference:.2g}")
    return Found("right")


def certain(
    name: str, case: LayerCase, arrays: Sequence[np.ndarray], policy: str
) -> np.ndarray | bool:
    """Where the float that a layer casts back to an integer is in range, and not next to another
    integer.
    """
    if name not in WRAPPED or arrays[0].dtype.kind not in "iu":
        return True
    model, _ = made(name, case, "float32", policy)
    found = expected(model, [array.astype("float32") for array in arrays])
    if found is None:
        return True
    value, limits = found[0], np.iinfo(arrays[0].dtype)
    edge = np.abs(value - np.rint(value)) < POLICIES[policy] / 5 * np.abs(value).max()
    return (value >= limits.min) & (value <= limits.max) & ~edge


def saved(model: keras.Model, path: Path) -> bool:
    """Whether Keras can save a model; copying the configs of some layers into HDF5 fails."""
    try:
        model.save(path)
    except TypeError:
        return False
    return True


def attempt(
    name: str, case: LayerCase, dtype: str, policy: str, folder: Path | None
) -> dict[str, Found]:
    """The verdicts by source: memory, and, with a folder, .keras and .h5. A file with the same
    graph and weights has the verdict of memory. Another graph is compared with the model that Keras
    loads: a layer whose `get_config` omits its policy has another one in a file.
    """
    sources = ("memory", "m.keras", "m.h5") if folder is not None else ("memory",)
    try:
        model, arrays = made(name, case, dtype, policy)
    except Exception as error:  # noqa: BLE001 - as above
        return dict.fromkeys(sources, Found("no oracle", f"build: {type(error).__name__}"))
    wanted = expected(model, arrays, case)
    exempt = float(name in ROUNDED and "int" in dtype), certain(name, case, arrays, policy)
    found, converted = {}, {}
    for source in sources:
        path = (folder or Path()) / source
        try:
            if source != "memory" and not saved(model, path):
                found[source] = Found("no oracle", "Keras cannot save it")
                continue
            converter = KerasConverter(batch_size=BATCH)
            graph = (
                converter.convert(model)
                if source == "memory"
                else converter.convert(*parse_model(path))
            )
            converted[source] = graph, converter.digests
            if source == "memory":
                found[source] = judge(graph, arrays, wanted, POLICIES[policy], *exempt)
            elif converted[source] == converted.get("memory"):
                found[source] = found["memory"]
            else:
                loaded = expected(keras.saving.load_model(path, compile=False), arrays, case)
                result = judge(graph, arrays, loaded, POLICIES[policy], *exempt)
                found[source] = replace(
                    result, reason=f"another graph than from memory {result.reason}".rstrip()
                )
        except UserError as error:
            found[source] = Found("no oracle" if wanted is None else "refused", str(error))
        except Exception as error:  # noqa: BLE001 - a traceback is what the cross looks for
            found[source] = Found("wrong", f"{type(error).__name__}: {error}")
    return found


def main(policies: Sequence[str]) -> None:
    logging.getLogger("absl").setLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        for policy in policies or POLICIES:
            counts: Counter[tuple[str, str]] = Counter()
            for name, cases in (
                (name, cases) for rows in LAYER_CASES.values() for name, cases in rows.items()
            ):
                for (number, case), dtype in product(enumerate(cases), DTYPES):
                    for source, result in attempt(name, case, dtype, policy, Path(folder)).items():
                        counts[source, result.verdict] += 1
                        if result.verdict in ("wrong", "refused") or (
                            source != "memory" and result.reason.startswith("another")
                        ):
                            print(
                                f"{policy} {name}[{number}] {dtype} {source}: {result.verdict}:"
                                f" {result.reason}",
                                flush=True,
                            )
            for source in dict.fromkeys(source for source, _ in counts):
                print(
                    policy,
                    source,
                    {
                        verdict: count
                        for (where, verdict), count in counts.items()
                        if where == source
                    },
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])

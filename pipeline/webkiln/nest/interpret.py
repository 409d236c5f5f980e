"""A numpy interpreter of nests: the reference for every printer."""

from collections.abc import Mapping, Sequence

import numpy as np

from webkiln.ir.types import Array
from webkiln.nest.expr import NUMPY, Expr, walk
from webkiln.nest.nest import Accumulator, Nest, load_guard, load_index
from webkiln.nest.semantics import compute


def interpret(
    nest: Nest, inputs: Sequence[Array], args: Mapping[str, int], outputs: Sequence[Array]
) -> None:
    """Run `nest` on dense row-major arrays, and store the results in `outputs`.

    Sums and products of float32 are accumulated in float64 and rounded once.
    """
    machine = _Machine(nest, inputs, args)
    parallel = [machine.extent(loop.extent) for loop in nest.axes]
    machine.open(
        [loop.axis for loop in (*nest.axes, *nest.reduce)],
        [*parallel, *(machine.extent(loop.extent) for loop in nest.reduce)],
    )
    accumulators = [machine.reduce(item, tuple(parallel)) for item in nest.accumulators]
    machine.open([loop.axis for loop in nest.axes], parallel)
    machine.accumulators = accumulators
    for out, array in zip(nest.outputs, outputs, strict=True):
        for expr, index in out.stores:
            value = np.broadcast_to(machine.value(expr), tuple(parallel))
            position = tuple(
                np.broadcast_to(machine.value(item), tuple(parallel)) for item in index
            )
            array[position] = value.astype(array.dtype)


class _Machine:
    def __init__(self, nest: Nest, inputs: Sequence[Array], args: Mapping[str, int]) -> None:
        self.nest, self.inputs, self.args = nest, inputs, args
        self.axes: dict[str, Array] = {}
        self.shape: tuple[int, ...] = ()
        self.accumulators: list[tuple[Array, Array]] = []

    def open(self, names: Sequence[str], extents: Sequence[int]) -> None:
        grids = (
            np.ix_(*(np.arange(extent, dtype=np.int32) for extent in extents)) if extents else ()
        )
        self.axes = dict(zip(names, grids, strict=True))
        self.shape = tuple(extents)

    def extent(self, expr: Expr) -> int:
        return int(self.value(expr))

    def value(self, root: Expr) -> Array:
        values: dict[Expr, Array] = {}
        for expr in walk([root]):
            values[expr] = self._step(expr, [values[item] for item in expr.args])
        return values[root]

    def _step(self, expr: Expr, args: list[Array]) -> Array:
        if expr.op == "axis":
            return self.axes[expr.value]
        if expr.op == "arg":
            return np.array(self.args[expr.value], dtype=np.int32)
        if expr.op == "acc":
            return self.accumulators[int(expr.value)][0]
        if expr.op == "accindex":
            return self.accumulators[int(expr.value)][1]
        if expr.op == "load":
            return self._load(expr, args)
        return compute(expr, args)

    def _load(self, expr: Expr, args: list[Array]) -> Array:
        source = self.inputs[expr.value[0]]
        index = tuple(args[: len(load_index(expr))])
        if load_guard(expr) is None:
            return np.asarray(source[index]).astype(NUMPY[expr.type])
        guard, other = args[-2:]
        inside = tuple(
            np.clip(item, 0, max(size - 1, 0))
            for item, size in zip(index, source.shape, strict=True)
        )
        if source.size == 0:
            return np.broadcast_to(
                other, np.broadcast_shapes(guard.shape, *(item.shape for item in index))
            )
        for item, size in zip(index, source.shape, strict=True):
            if np.any(np.broadcast_arrays(guard & ((item < 0) | (item >= size)))[0]):
                raise IndexError(
                    f"guarded load of input {expr.value[0]}: index out of range for size {size}"
                )
        return np.where(guard, source[inside].astype(NUMPY[expr.type]), other)

    def reduce(self, item: Accumulator, parallel: tuple[int, ...]) -> tuple[Array, Array]:
        body = np.broadcast_to(self.value(item.body), self.shape).reshape(*parallel, -1)
        if body.shape[-1] == 0:
            return np.full(parallel, item.identity.value, dtype=body.dtype), np.zeros(
                parallel, np.int32
            )
        if item.combiner in ("argmax", "argmin"):
            index = (np.argmax if item.combiner == "argmax" else np.argmin)(body, axis=-1)
            return np.take_along_axis(body, index[..., None], -1)[..., 0], index.astype(np.int32)
        function: np.ufunc = {
            "sum": np.add,
            "prod": np.multiply,
            "max": np.maximum,
            "min": np.minimum,
        }[item.combiner]
        with np.errstate(all="ignore"):
            wide = (
                body.astype(np.float64)
                if body.dtype == np.float32 and item.combiner in ("sum", "prod")
                else body
            )
            return np.asarray(function.reduce(wide, axis=-1)).astype(body.dtype), np.zeros(
                parallel, np.int32
            )

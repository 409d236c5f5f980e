"""Softmax, and batch normalisation in its inference form."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import apply
from webkiln.ops.operator import Case, Operator, Perm, Traits, define, same_axes
from webkiln.ops.reduce import check_axes, open_loops


@dataclass(frozen=True, slots=True)
class Softmax(Attributes):
    axis: int


def _same_types(attrs: Softmax, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes((attrs.axis,), types[0].rank)
    return (types[0],)


def _lower_softmax(logarithm: bool) -> Callable[[Lowering, Softmax], None]:
    def lower(low: Lowering, attrs: Softmax) -> None:
        """Three nests: the largest element; the sum of exp(x - largest); the result."""
        x, out, axis = low.inputs[0], low.outputs[0], attrs.axis
        retained = [size for d, size in enumerate(x.shape) if d != axis]
        largest, total = (
            low.temporary(x.type.dtype, retained),
            low.temporary("float32" if x.type.dtype == "float16" else x.type.dtype, retained),
        )

        nest = low.nest()
        nest.store(
            largest, nest.accumulate("max", nest.load(x, open_loops(nest, x.shape, (axis,))))
        )
        nest.done()

        nest = low.nest()
        index = open_loops(nest, x.shape, (axis,))
        rest = [item for d, item in enumerate(index) if d != axis]
        nest.store(
            total,
            nest.accumulate("sum", apply("exp", nest.load(x, index) - nest.load(largest, rest))),
        )
        nest.done()

        nest = low.nest()
        index = list(nest.axes(x.shape))
        rest = [item for d, item in enumerate(index) if d != axis]
        shifted = nest.load(x, index) - nest.load(largest, rest)
        sum_ = nest.load(total, rest)
        nest.store(out, shifted - apply("log", sum_) if logarithm else apply("exp", shifted) / sum_)
        nest.done()

    return lower


def _softmax_reference(logarithm: bool) -> Callable[..., tuple[Array, ...]]:
    def compute(attrs: Softmax, x: Array) -> tuple[Array, ...]:
        wide = x.astype(np.float64)
        shifted = wide - wide.max(axis=attrs.axis, keepdims=True, initial=-inf)
        log = shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True))
        return (np.asarray(log if logarithm else np.exp(log)),)

    return compute


def _softmax_cases() -> Iterable[Case]:
    x = np.random.default_rng(4).standard_normal((3, 4, 5)).astype(np.float32) * 10
    yield from (Case((x,), {"axis": axis}) for axis in (0, 1, 2))
    yield Case((np.array([[1000.0, 1000.0, -1000.0]], np.float32),), {"axis": 1}, name="large")


# exp(x) / sum(exp(x)) along `axis`, and its logarithm.
for _name, _logarithm in (("Softmax", False), ("LogSoftmax", True)):
    define(
        Operator(
            _name,
            _same_types,
            _softmax_reference(_logarithm),
            _lower_softmax(_logarithm),
            Softmax,
            cases=_softmax_cases,
            traits=Traits(source_axes=same_axes),
        )
    )


@dataclass(frozen=True, slots=True)
class BatchNorm(Attributes):
    axis: int
    epsilon: float


def _norm_types(attrs: BatchNorm, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes((attrs.axis,), types[0].rank)
    channels = types[0].shape[attrs.axis]
    for name, type_ in zip(("scale", "beta", "mean", "variance"), types[1:], strict=True):
        if prod(type_.shape) not in (1, channels) or type_.rank > 1:
            raise ShapeError(
                f"{name} is {type_}, expected [{channels}] (axis {attrs.axis} of {types[0]})"
            )
    return (types[0],)


def _norm_reference(attrs: BatchNorm, x: Array, *parameters: Array) -> tuple[Array, ...]:
    shape = [-1 if axis == attrs.axis else 1 for axis in range(x.ndim)]
    scale, beta, mean, variance = (
        p.astype(np.float64).reshape(shape if p.size != 1 else (1,) * x.ndim) for p in parameters
    )
    return ((x.astype(np.float64) - mean) / np.sqrt(variance + attrs.epsilon) * scale + beta,)


def _lower_norm(low: Lowering, attrs: BatchNorm) -> None:
    x = low.inputs[0]
    nest = low.nest()
    index = nest.axes(x.shape)
    channel = index[attrs.axis]
    scale, beta, mean, variance = (
        nest.element(view, (channel,)) if view.shape else nest.load(view, ())
        for view in low.inputs[1:]
    )
    factor = scale / apply("sqrt", variance + attrs.epsilon)
    nest.store(low.outputs[0], (nest.load(x, index) - mean) * factor + beta)
    nest.done()


def _norm_cases() -> Iterable[Case]:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
    for axis in (1, 3):
        parameters = [np.asarray(rng.uniform(0.5, 2, x.shape[axis]), np.float32) for _ in range(4)]
        yield Case((x, *parameters), {"axis": axis, "epsilon": 1e-3})


def _norm_before_transpose(attrs: BatchNorm, perm: Perm) -> BatchNorm:
    return replace(attrs, axis=perm[attrs.axis])


BATCH_NORM = define(
    Operator(
        "BatchNorm",
        _norm_types,
        _norm_reference,
        _lower_norm,
        BatchNorm,
        (5, 5),
        _norm_cases,
        Traits(
            source_axes=same_axes,
            before_transpose=_norm_before_transpose,
            transposed_inputs=1,
        ),
    )
)
"""(x - mean) / sqrt(variance + epsilon) * scale + beta. Inputs: x, and scale, beta, mean and
variance, each a scalar or a vector of the size of `axis`.
"""

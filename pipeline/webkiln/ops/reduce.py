"""Reductions over axes, softmax, and batch normalisation in its inference form."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf, prod

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type, is_float, is_integer, itemsize
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, REAL, Expr, apply, cast, const
from webkiln.nest.steps import View
from webkiln.ops.operator import REQUIRED, Case, Operator, define


def check_axes(axes: Sequence[int], rank: int) -> None:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise ShapeError(f"axes {list(axes)} do not name distinct dimensions of {rank}")


def _reduced(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    check_axes(axes, len(shape))
    return tuple(
        1 if axis in axes else size
        for axis, size in enumerate(shape)
        if keepdims or axis not in axes
    )


def _types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type(types[0].dtype, _reduced(types[0].shape, attrs["axes"], attrs["keepdims"])),)


def _open(nest: NestBuilder, shape: Sequence[int], axes: Sequence[int]) -> list[Expr]:
    """Parallel loops over the kept axes, reduction loops over `axes`; the index of each dimension."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    parallel = dict(zip(kept, nest.axes([shape[axis] for axis in kept]), strict=True))
    inner = {axis: nest.reduce(shape[axis]) for axis in sorted(axes)}
    return [parallel[axis] if axis in parallel else inner[axis] for axis in range(len(shape))]


def _lower(combiner: str, mean: bool) -> Callable[[Lowering, Attributes], None]:
    def lower(low: Lowering, attrs: Attributes) -> None:
        x, axes = low.inputs[0], attrs["axes"]
        nest = low.nest()
        index = _open(nest, x.shape, axes)
        value = nest.accumulate(combiner, nest.load(x, index))
        if combiner in ("max", "min") and is_integer(x.type.dtype) and itemsize(x.type.dtype) < 4:
            limits = np.iinfo(x.type.dtype)
            value = apply(
                "max",
                apply("min", value, const(int(limits.max), value.type)),
                const(int(limits.min), value.type),
            )
        if mean:
            count = const(1, INT)
            for axis in axes:
                count = count * nest.number(x[axis])
            value = (
                value / cast(count, value.type)
                if value.type in REAL
                else apply("idiv", value, cast(count, value.type))
            )
        kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
        nest.store(low.outputs[0].reshaped(kept), value)
        nest.done()

    return lower


def _cases() -> Iterable[Case]:
    x = np.random.default_rng(3).standard_normal((3, 4, 5)).astype(np.float32)
    for axes in ((1,), (0, 2), (0, 1, 2), ()):
        for keepdims in (False, True):
            yield Case((x,), {"axes": axes, "keepdims": keepdims})


def _whole_cases() -> Iterable[Case]:
    yield from _cases()
    yield Case((np.array([[-7, 2, 1], [5, 6, 9]], np.int32),), {"axes": (1,)}, name="whole numbers")
    yield from (
        Case((np.zeros((2, 0), dtype),), {"axes": (1,)}, name=f"nothing of {dtype}")
        for dtype in ("int8", "uint16", "int32")
    )


def _reference(function: Callable[..., Array]) -> Callable[..., tuple[Array, ...]]:
    def compute(attrs: Attributes, x: Array) -> tuple[Array, ...]:
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        empty = (
            {"initial": of_nothing(function, str(x.dtype))} if function in (np.max, np.min) else {}
        )
        return (
            np.asarray(
                function(wide, axis=tuple(attrs["axes"]), keepdims=attrs["keepdims"], **empty)
            ),
        )

    return compute


def of_nothing(function: Callable[..., Array], dtype: str) -> float:
    """The largest or least of no numbers."""
    limits = np.iinfo(dtype) if not is_float(dtype) else None
    if function is np.max:
        return -inf if limits is None else int(limits.min)
    return inf if limits is None else int(limits.max)


def mean(x: Array, axis: tuple[int, ...], *, keepdims: bool) -> Array:
    """Of nothing, NaN; of whole numbers truncated, of none of them 0. Whole numbers of fewer than
    32 bits have a sum of 32.
    """
    wide = x.dtype if x.dtype.kind == "f" else np.result_type(x.dtype, f"{x.dtype.kind}4")
    total, count = (
        np.sum(x, axis=axis, keepdims=keepdims, dtype=wide),
        prod(x.shape[a] for a in axis),
    )
    if x.dtype.kind == "f":
        return np.asarray(total / count)
    return np.asarray((total - np.fmod(total, count)) // count if count else np.zeros_like(total))


for _name, _combiner, _function in (
    ("ReduceSum", "sum", np.sum), ("ReduceMean", "sum", mean), ("ReduceMax", "max", np.max),
    ("ReduceMin", "min", np.min), ("ReduceProd", "prod", np.prod),
):  # fmt: skip
    define(
        Operator(
            _name,
            _types,
            _reference(_function),
            _lower(_combiner, _name == "ReduceMean"),
            {"axes": REQUIRED, "keepdims": False},
            cases=_cases if _name == "ReduceProd" else _whole_cases,
        )
    )


def _arg_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type("int32", _reduced(types[0].shape, (attrs["axis"],), attrs["keepdims"])),)


def _lower_arg(combiner: str) -> Callable[[Lowering, Attributes], None]:
    def lower(low: Lowering, attrs: Attributes) -> None:
        x, axis = low.inputs[0], attrs["axis"]
        nest = low.nest()
        value = nest.accumulate(combiner, nest.load(x, _open(nest, x.shape, (axis,))))
        nest.store(
            low.outputs[0].reshaped([size for d, size in enumerate(x.shape) if d != axis]),
            nest.index_of(value),
        )
        nest.done()

    return lower


def _arg_cases() -> Iterable[Case]:
    x = np.array([[1, 5, 5, 2], [0, -1, -1, 0], [np.nan, 3, np.nan, 9]], np.float32)
    for axis in (0, 1):
        for keepdims in (False, True):
            yield Case((x,), {"axis": axis, "keepdims": keepdims})
    yield Case((x[:, :0],), {"axis": 1, "keepdims": False}, name="of nothing")


def _arg_reference(function: Callable[..., Array]) -> Callable[..., tuple[Array, ...]]:
    """Of nothing, 0."""

    def compute(attrs: Attributes, x: Array) -> tuple[Array, ...]:
        given = (
            x
            if x.shape[attrs["axis"]]
            else np.zeros_like(
                x,
                shape=[max(size, int(axis == attrs["axis"])) for axis, size in enumerate(x.shape)],
            )
        )
        return (np.asarray(function(given, axis=attrs["axis"], keepdims=attrs["keepdims"])),)

    return compute


for _name, _combiner, _search in (("ArgMax", "argmax", np.argmax), ("ArgMin", "argmin", np.argmin)):
    define(
        Operator(
            _name,
            _arg_types,
            _arg_reference(_search),
            _lower_arg(_combiner),
            {"axis": REQUIRED, "keepdims": False},
            cases=_arg_cases,
        )
    )


def _cumulative_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes((attrs["axis"],), types[0].rank)
    return (types[0],)


def _cumulative_reference(
    function: Callable[..., Array], start: int
) -> Callable[..., tuple[Array, ...]]:
    def compute(attrs: Attributes, x: Array) -> tuple[Array, ...]:
        axis = attrs["axis"]
        wide = np.moveaxis(x.astype(np.float64) if x.dtype.kind == "f" else x, axis, 0)
        turned = wide[::-1] if attrs["reverse"] else wide
        if attrs["exclusive"]:
            turned = np.concatenate([np.full_like(turned[:1], start), turned[:-1]])
        result = function(turned, axis=0)
        return (np.moveaxis(result[::-1] if attrs["reverse"] else result, 0, axis),)

    return compute


SHORT = 32
"""Elements that are quicker reduced anew for each than by doubling."""


def _lower_cumulative(combiner: str, low: Lowering, attrs: Attributes) -> None:
    """Each element reduces those up to its own place, or, on a longer axis of known size, in passes
    (Hillis & Steele 1986): after the nth, those of the last 2**n places.
    """
    x, axis = low.inputs[0], attrs["axis"]
    size = x[axis]
    if is_symbolic(size) or size <= SHORT:
        _reduce_anew(combiner, low, attrs)
        return
    source, distance = x, 1
    between = "float32" if x.type.dtype == "float16" else x.type.dtype
    if attrs["exclusive"]:
        source = low.temporary(between, x.shape)
        _shifted(combiner, low, attrs, x, source, distance, alone=True)
    while distance < size:
        last = 2 * distance >= size
        target = low.outputs[0] if last else low.temporary(between, x.shape)
        _shifted(combiner, low, attrs, source, target, distance, alone=False)
        source, distance = target, 2 * distance


def _shifted(
    combiner: str,
    low: Lowering,
    attrs: Attributes,
    source: View,
    target: View,
    distance: int,
    *,
    alone: bool,
) -> None:
    """Each element with (or, `alone`, in the place of) the one that many places before it."""
    axis, step, zero = attrs["axis"], 0 if combiner == "sum" else 1, const(0, INT)
    nest = low.nest()
    index = list(nest.axes(source.shape))
    far = nest.argument(distance)
    there = index[axis] + far if attrs["reverse"] else index[axis] - far
    guard = (
        apply("lt", there, nest.number(source[axis]))
        if attrs["reverse"]
        else apply("ge", there, zero)
    )
    before = nest.load(
        source, [there if d == axis else item for d, item in enumerate(index)], guard, step
    )
    value = (
        before
        if alone
        else apply("add" if combiner == "sum" else "mul", nest.load(source, index), before)
    )
    nest.store(target, value)
    nest.done()


def _reduce_anew(combiner: str, low: Lowering, attrs: Attributes) -> None:
    x, axis = low.inputs[0], attrs["axis"]
    nest = low.nest()
    index = list(nest.axes(x.shape))
    inner = nest.reduce(x[axis])
    first, second = (index[axis], inner) if attrs["reverse"] else (inner, index[axis])
    guard = apply("lt" if attrs["exclusive"] else "le", first, second)
    place = [inner if d == axis else item for d, item in enumerate(index)]
    nest.store(
        low.outputs[0],
        nest.accumulate(combiner, nest.load(x, place, guard, 0 if combiner == "sum" else 1)),
    )
    nest.done()


def _cumulative_cases() -> Iterable[Case]:
    x = np.random.default_rng(13).uniform(0.5, 1.5, (3, 7, 4)).astype(np.float32)
    long = np.random.default_rng(14).uniform(0.9, 1.1, (75, 3)).astype(np.float32)
    for axis in (1, 2):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield Case((x,), {"axis": axis, "exclusive": exclusive, "reverse": reverse})
                yield Case(
                    (long,), {"axis": 0, "exclusive": exclusive, "reverse": reverse}, name="long"
                )
    yield Case((np.arange(1, 6, dtype=np.int32),), {"axis": 0}, name="integers")


for _name, _combiner, _gather, _start in (
    ("CumSum", "sum", np.cumsum, 0),
    ("CumProd", "prod", np.cumprod, 1),
):
    define(
        Operator(
            _name,
            _cumulative_types,
            _cumulative_reference(_gather, _start),
            partial(_lower_cumulative, _combiner),
            {"axis": REQUIRED, "exclusive": False, "reverse": False},
            cases=_cumulative_cases,
        )
    )


def _same_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes((attrs["axis"],), types[0].rank)
    return (types[0],)


def _lower_softmax(logarithm: bool) -> Callable[[Lowering, Attributes], None]:
    def lower(low: Lowering, attrs: Attributes) -> None:
        """Largest element; sum of exp(x - largest); then each element."""
        x, out, axis = low.inputs[0], low.outputs[0], attrs["axis"]
        kept = [size for d, size in enumerate(x.shape) if d != axis]
        largest, total = (
            low.temporary(x.type.dtype, kept),
            low.temporary("float32" if x.type.dtype == "float16" else x.type.dtype, kept),
        )

        nest = low.nest()
        nest.store(largest, nest.accumulate("max", nest.load(x, _open(nest, x.shape, (axis,)))))
        nest.done()

        nest = low.nest()
        index = _open(nest, x.shape, (axis,))
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
    def compute(attrs: Attributes, x: Array) -> tuple[Array, ...]:
        wide = x.astype(np.float64)
        shifted = wide - wide.max(axis=attrs["axis"], keepdims=True, initial=-inf)
        log = shifted - np.log(np.exp(shifted).sum(axis=attrs["axis"], keepdims=True))
        return (np.asarray(log if logarithm else np.exp(log)),)

    return compute


def _softmax_cases() -> Iterable[Case]:
    x = np.random.default_rng(4).standard_normal((3, 4, 5)).astype(np.float32) * 10
    yield from (Case((x,), {"axis": axis}) for axis in (0, 1, 2))
    yield Case((np.array([[1000.0, 1000.0, -1000.0]], np.float32),), {"axis": 1}, name="large")


for _name, _logarithm in (("Softmax", False), ("LogSoftmax", True)):
    define(
        Operator(
            _name,
            _same_types,
            _softmax_reference(_logarithm),
            _lower_softmax(_logarithm),
            {"axis": REQUIRED},
            cases=_softmax_cases,
        )
    )


def _norm_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    check_axes((attrs["axis"],), types[0].rank)
    channels = types[0].shape[attrs["axis"]]
    for name, type_ in zip(("scale", "beta", "mean", "variance"), types[1:], strict=True):
        if prod(type_.shape) not in (1, channels) or type_.rank > 1:
            raise ShapeError(
                f"{name} is {type_}, expected [{channels}] (axis {attrs['axis']} of {types[0]})"
            )
    return (types[0],)


def _norm_reference(attrs: Attributes, x: Array, *parameters: Array) -> tuple[Array, ...]:
    shape = [-1 if axis == attrs["axis"] else 1 for axis in range(x.ndim)]
    scale, beta, mean, variance = (
        p.astype(np.float64).reshape(shape if p.size != 1 else (1,) * x.ndim) for p in parameters
    )
    return ((x.astype(np.float64) - mean) / np.sqrt(variance + attrs["epsilon"]) * scale + beta,)


def _lower_norm(low: Lowering, attrs: Attributes) -> None:
    x = low.inputs[0]
    nest = low.nest()
    index = nest.axes(x.shape)
    channel = index[attrs["axis"]]
    scale, beta, mean, variance = (
        nest.element(view, (channel,)) if view.shape else nest.load(view, ())
        for view in low.inputs[1:]
    )
    factor = scale / apply("sqrt", variance + attrs["epsilon"])
    nest.store(low.outputs[0], (nest.load(x, index) - mean) * factor + beta)
    nest.done()


def _norm_cases() -> Iterable[Case]:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
    for axis in (1, 3):
        parameters = [np.asarray(rng.uniform(0.5, 2, x.shape[axis]), np.float32) for _ in range(4)]
        yield Case((x, *parameters), {"axis": axis, "epsilon": 1e-3})


define(
    Operator(
        "BatchNorm",
        _norm_types,
        _norm_reference,
        _lower_norm,
        {"axis": REQUIRED, "epsilon": REQUIRED},
        (5, 5),
        _norm_cases,
    )
)

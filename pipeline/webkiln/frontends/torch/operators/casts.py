"""Operators that return their operand: unchanged, cast, or without their effect in training."""

from webkiln.frontends.torch.aten import AtenCall, AtenHandler, wider
from webkiln.ir.types import is_float, is_integer, itemsize
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import cast


def identity(c: AtenCall) -> Tensor:
    return c.op("Identity", c.tensor())


def to_copy(c: AtenCall) -> Tensor:
    x = c.tensor()
    return to_dtype(c, x, c.dtype(x.dtype))


def to_dtype(c: AtenCall, x: Tensor, dtype: str) -> Tensor:
    """Values outside the range of an integer dtype wrap."""
    if is_float(x.dtype) and is_integer(dtype) and itemsize(dtype) < 4:
        return c.cast(c.cast(x, "int64"), dtype)
    return c.cast(x, dtype) if dtype != x.dtype else c.op("Identity", x)


def to_other(c: AtenCall) -> Tensor:
    x = c.tensor()
    other = c["other"]
    return to_dtype(c, x, other.dtype if isinstance(other, Tensor) else c.dtype(x.dtype))


def to_named(dtype: str) -> AtenHandler:
    return lambda c: to_dtype(c, c.tensor(), dtype)


def dropout(c: AtenCall) -> list[Tensor]:
    """The identity, and a mask of ones."""
    if c["train"]:
        raise c.unsupported("applies dropout", "Call model.eval() before it is exported")
    x = c.tensor("input")
    return [c.op("Identity", x), c.op("Broadcast", c.b.constant(1, "bool"), shape=x.shape)]


def dropped(c: AtenCall) -> Tensor:
    return dropout(c)[0]


def common(b: GraphBuilder, xs: list[Tensor]) -> list[Tensor]:
    """Tensors in the result dtype of torch.cat and torch.stack."""
    dtype = xs[0].dtype
    for x in xs[1:]:
        dtype = wider(dtype, x.dtype)
    return [cast(b, x, dtype) for x in xs]


CASTS: dict[str, AtenHandler] = {
    **dict.fromkeys(
        (
            "alias",
            "clone",
            "contiguous",
            "detach",
            "lift_fresh_copy",
            "lift",
            "lift_fresh",
            "view_as_real_copy",
            "positive",
            "conj_physical",
            "real",
            "resolve_conj",
            "resolve_neg",
            "_conj",
            "cpu",
            "data",
            "requires_grad_",
        ),
        identity,
    ),
    "_to_copy": to_copy,
    "to": to_other,
    "type_as": to_other,
    "float": to_named("float32"),
    "double": to_named("float64"),
    "half": to_named("float16"),
    "long": to_named("int64"),
    "int": to_named("int32"),
    "bool": to_named("bool"),
    "native_dropout": dropout,
    **dict.fromkeys(("dropout", "alpha_dropout", "feature_dropout"), dropped),
}

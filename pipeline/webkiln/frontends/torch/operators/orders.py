"""Sorting, and elements by their order."""

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.reduce import first, keepdim
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import part, reshaped


def sort(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    if not x.type.rank:
        return [c.op("Identity", x), c.b.constant(0, "int64")]
    numbers = c.cast(x, "uint8") if x.dtype == "bool" else x
    values, indices = c.b.ops(
        "Sort",
        [numbers],
        {
            "axis": c.axis(c.get("dim", -1), x.type.rank),
            "descending": bool(c.get("descending", False)),
        },
    )
    return [c.cast(values, x.dtype), indices]


def argsort(c: AtenCall) -> Tensor:
    return sort(c)[1]


def top_k(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", -1), x.type.rank)
    ordered = c.b.ops("Sort", [x], {"axis": axis, "descending": bool(c.get("largest", True))})
    return [part(c.b, item, axis, 0, c.number("k")) for item in ordered]


def kth_value(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", -1), x.type.rank)
    return elements_at(c, x, axis, c.number("k") - 1)


def elements_at(c: AtenCall, x: Tensor, axis: int, index: Size) -> list[Tensor]:
    """The k-th smallest element along an axis, and its index."""
    shape = (
        [1 if d == axis else size for d, size in enumerate(x.shape)]
        if keepdim(c)
        else [size for d, size in enumerate(x.shape) if d != axis]
    )
    return [
        reshaped(c.b, part(c.b, item, axis, index, 1), shape)
        for item in c.b.ops("Sort", [x], {"axis": axis, "descending": False})
    ]


def median(c: AtenCall) -> Tensor | list[Tensor]:
    x = c.tensor()
    if c.has("dim"):
        axis = c.axis(c.number("dim"), x.type.rank)
        return elements_at(c, x, axis, (x.shape[axis] - 1) // 2)
    flat = reshaped(c.b, x, (x.type.size,))
    return elements_at(c, flat, 0, (x.type.size - 1) // 2)[0]


ORDERS: dict[str, AtenHandler] = {
    "sort": sort,
    "msort": first(sort),
    "argsort": argsort,
    "topk": top_k,
    "kthvalue": kth_value,
    "median": median,
}

"""Linear operators on complex numbers: the operator on the real parts and on the imaginary ones."""

from collections.abc import Callable, Mapping

from webkiln.frontends.nodes.call import GraphValue
from webkiln.frontends.torch.aten import AtenCall, AtenHandler, operand_index
from webkiln.frontends.torch.operators.elementwise import ELEMENTWISE
from webkiln.frontends.torch.operators.indexing import INDEXING
from webkiln.frontends.torch.operators.joins import JOINS
from webkiln.frontends.torch.operators.linear import LINEAR
from webkiln.frontends.torch.operators.reduce import REDUCE
from webkiln.frontends.torch.operators.shape import SHAPE
from webkiln.frontends.torch.operators.slices import SLICES
from webkiln.frontends.torch.operators.spectrum import joined, parts
from webkiln.ops.builder import Tensor

REAL: Mapping[str, AtenHandler] = {
    **ELEMENTWISE,
    **SHAPE,
    **SLICES,
    **JOINS,
    **REDUCE,
    **INDEXING,
    **LINEAR,
}
LINEAR_OPERATORS = (
    "slice",
    "select",
    "cat",
    "stack",
    "sum",
    "mean",
    "cumsum",
    "flip",
    "roll",
    "expand",
    "repeat",
    "index_select",
)
PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot")
OTHERS = {"mm": "mat2", "bmm": "mat2", "mv": "vec", "dot": "tensor"}
"""The second argument, if it is not `other`."""


def positions(c: AtenCall, name: str) -> list[int]:
    """The operands of an argument, which is a tensor or a list of tensors."""
    value = c.call.attr(name)
    found = map(operand_index, value if isinstance(value, tuple) else (value,))
    return [position for position in found if position is not None]


def with_parts(c: AtenCall, chosen: Mapping[str, int]) -> AtenCall:
    """The call with the real parts (0) or the imaginary parts (1) of arguments."""
    operands = list(c.call.operands)
    for name, number in chosen.items():
        for position in positions(c, name):
            part = parts(c, c.call.tensor(position))[number]
            operands[position] = GraphValue(part.type, part)
    return AtenCall(c.call.with_operands(c.b, operands))


def computed(c: AtenCall, name: str, chosen: Mapping[str, int]) -> Tensor:
    """The result of the operator on real or imaginary parts of arguments."""
    result = REAL[name](with_parts(c, chosen))
    assert isinstance(result, Tensor)
    return result


def linear(c: AtenCall, name: str) -> Tensor:
    arguments = c.call.attr("complex")
    return joined(c, *(computed(c, name, dict.fromkeys(arguments, part)) for part in (0, 1)))


def bilinear(c: AtenCall, name: str) -> Tensor:
    if len(c.call.attr("complex")) == 1:
        return linear(c, name)
    second = OTHERS.get(name, "other")
    rr, ii, ri, ir = (
        computed(c, name, {"self": a, second: b}) for a, b in ((0, 0), (1, 1), (0, 1), (1, 0))
    )
    return joined(c, rr - ii, ri + ir)


def of(handler: Callable[[AtenCall, str], Tensor], name: str) -> AtenHandler:
    return lambda c: handler(c, name)


PARTS: dict[str, AtenHandler] = {
    **{name: of(linear, name) for name in LINEAR_OPERATORS},
    **{name: of(bilinear, name) for name in PRODUCTS},
}

"""StridedSlice of TensorFlow and LiteRT: its masks, and data-dependent indices."""

from collections.abc import Callable

from webkiln.frontends.nodes.call import NodeCall
from webkiln.ir.dim import known
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import element, sized


def masks(call: NodeCall) -> Callable[[str, int], bool]:
    """A predicate of the name of a mask (`begin`, `end`, `ellipsis`, `new_axis`, `shrink_axis`) and
    a bit number.
    """
    bits = {
        name: call.attr(f"{name}_mask", 0)
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    return lambda name, number: bool(bits[name] >> number & 1)


def elements_at(call: NodeCall) -> Tensor:
    """x[i], x[:, i] and similar, with data-dependent indices; negative ones count from the end."""
    b, x, begin, is_set = call.builder, call.tensor(0), call.tensor(1), masks(call)
    axis, count = 0, known(begin.shape[0], "the number of indices")
    for number in range(count):
        if is_set("ellipsis", number):
            axis = x.type.rank - (count - number - 1)
        elif is_set("shrink_axis", number):
            index = element(b, begin, 0, number)
            size = sized(b, x.shape[axis], index.dtype)
            index = b.op("Where", [b.binary("Less", index, 0), index + size, index])
            x = b.op("Gather", [x, index], {"axis": axis})
        elif is_set("new_axis", number) or not (is_set("begin", number) and is_set("end", number)):
            raise call.data_dependent_error(1)
        else:
            axis += 1
    return x

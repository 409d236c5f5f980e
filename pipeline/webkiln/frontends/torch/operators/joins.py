"""Concatenation, stacking and splitting."""

from collections.abc import Sequence

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.casts import common
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import element, part, reshaped, stacked


def cat(c: AtenCall) -> Tensor:
    """Empty tensors of rank 1 are ignored, whatever the rank of the others."""
    xs = common(c.b, list(c["tensors"]))
    nonempty = [
        x for x in xs if not (x.type.rank == 1 and x.shape[0] == 0 and not is_symbolic(x.shape[0]))
    ] or xs[:1]
    return (
        nonempty[0]
        if len(nonempty) == 1
        else c.op("Concat", *nonempty, axis=c.axis(c.get("dim", 0), nonempty[0].type.rank))
    )


def stack(c: AtenCall) -> Tensor:
    xs = common(c.b, list(c["tensors"]))
    return stacked(c.b, xs, c.axis(c.get("dim", 0), xs[0].type.rank + 1))


def hstack(c: AtenCall) -> Tensor:
    xs = [reshaped(c.b, x, (1,)) if not x.type.rank else x for x in common(c.b, list(c["tensors"]))]
    return c.op("Concat", *xs, axis=0 if xs[0].type.rank == 1 else 1)


def vstack(c: AtenCall) -> Tensor:
    xs = [
        reshaped(c.b, x, (1, *(x.shape or (1,)))) if x.type.rank < 2 else x
        for x in common(c.b, list(c["tensors"]))
    ]
    return c.op("Concat", *xs, axis=0)


def pieces(c: AtenCall, x: Tensor, axis: int, sizes: Sequence[Size]) -> list[Tensor]:
    parts: list[Tensor] = []
    first: Size = 0
    for count in sizes:
        parts.append(part(c.b, x, axis, first, count))
        first += count
    return parts


def split_with_sizes(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    return pieces(c, x, c.axis(c.get("dim", 0), x.type.rank), c.sizes("split_sizes"))


def split(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    if c.overload == "sizes":
        return pieces(c, x, axis, c.sizes("split_size"))
    return equal_pieces(c, x, axis, c.number("split_size"))


def equal_pieces(c: AtenCall, x: Tensor, axis: int, each: Size) -> list[Tensor]:
    size = x.shape[axis]
    count = (
        size // each if is_symbolic(size) and not is_symbolic(size // each) else -(-size // each)
    )
    if is_symbolic(count):
        raise c.unsupported(
            "returns one tensor per element of a symbolic size", "Set the size with --dim"
        )
    return pieces(c, x, axis, [*[each] * (count - 1), size - each * (count - 1)])


def chunk(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    return equal_pieces(c, x, axis, -(-x.shape[axis] // c.number("chunks")))


def unbind(c: AtenCall) -> list[Tensor]:
    x = c.tensor()
    axis = c.axis(c.get("dim", 0), x.type.rank)
    count = x.shape[axis]
    if is_symbolic(count):
        raise c.unsupported(
            "returns one tensor per element of a symbolic size", "Set the size with --dim"
        )
    return [element(c.b, x, axis, index) for index in range(count)]


JOINS: dict[str, AtenHandler] = {
    "cat": cat,
    "concat": cat,
    "concatenate": cat,
    "stack": stack,
    "hstack": hstack,
    "vstack": vstack,
    "split_with_sizes": split_with_sizes,
    "split_with_sizes_copy": split_with_sizes,
    "split": split,
    "chunk": chunk,
    "unsafe_chunk": chunk,
    "unsafe_split": split,
    "unsafe_split_with_sizes": split_with_sizes,
    "unbind": unbind,
    "unbind_copy": unbind,
}

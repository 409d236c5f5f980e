"""Find weights of 4 or 8 bits whose scales are those of blocks along the sum, or of columns."""

from collections.abc import Iterator
from dataclasses import dataclass

from webkiln.ir.dim import is_symbolic, known_shape
from webkiln.ir.rewrite import GraphView
from webkiln.nest.kernel_template import find_template
from webkiln.ops.block_products import BYTE, code_range
from webkiln.ops.codes import Repeat, UnpackBits
from webkiln.ops.conversion import Cast
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Broadcast, Reshape, Slice

USUAL_BLOCK = 32
"""The preferred length of the blocks of activations where weights have none."""
KEEPING = dict.fromkeys(("int8", "uint8"), ("int32", "float32")) | dict.fromkeys(
    ("int32", "float16"), ("float32",)
)
"""Casts that keep the values of codes, zero points and scales."""
HALF = 4
MIDDLE = 8
"""What turns a signed code of 4 bits into an unsigned one."""
SIGNS = 0x88
"""The highest bits of the two codes in a byte."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of 8 bits, or the bytes that contain codes of 4 bits, which may be `signed`."""

    name: str
    bits: int = BYTE
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number for each block of weights; if `block` is 0, for each column, or for all."""

    name: str
    block: int


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """w[n, k] = (codes[n, k] - center - points[n, b]) * scales[n, b] + minima[n, b], in which b is
    k // block, or 0. There are not both points and minima. If `transposed`, these are stored as
    [k, n].
    """

    codes: Codes
    block: int
    scales: Parameter
    center: int
    points: Parameter | None
    minima: Parameter | None
    transposed: bool

    @property
    def has_offsets(self) -> bool:
        return self.points is not None or self.minima is not None

    def operands(self, made: Replacement) -> list[str]:
        """The operands of MatMulBlocks: packed, factors and, if there are any, offsets."""
        packed = self._packed(made)
        columns = known_shape(made.type(packed).shape, packed)[self.transposed]
        shape = (1, columns) if self.transposed else (columns, 1)

        def wide(parameter: Parameter) -> str:
            """As float32 [n, blocks], or [n, 1]."""
            name = parameter.name
            if made.type(name).dtype != "float32":
                name = made.add(f"{name}/float32", "Cast", [name], Cast("float32"))
            if parameter.block or made.type(name).shape == shape:
                return name
            name = made.add(f"{name}/matrix", "Reshape", [name], Reshape((1, 1)))
            return made.add(f"{name}/columns", "Broadcast", [name], Broadcast(shape))

        scales = wide(self.scales)
        if self.points is not None:
            products = made.add("products", "Mul", [wide(self.points), scales])
            return [packed, scales, made.add("offsets", "Neg", [products])]
        return [packed, scales, *([] if self.minima is None else [wide(self.minima)])]

    def _packed(self, made: Replacement) -> str:
        """The codes as MatMulBlocks reads them: those of a byte are neighbours along the sum."""
        name = self.codes.name
        if self.codes.signed:
            name = made.add("bytes", "BitXor", [name, made.constant("signs", SIGNS, "uint8")])
        if self.codes.bits == BYTE or not self.transposed:
            return name
        name = made.add("unpacked", "UnpackBits", [name], UnpackBits(HALF))
        depth, columns = known_shape(made.type(name).shape, name)
        low, high = (
            made.add(part, "Slice", [name], Slice((at, 0), (depth // 2, columns), (2, 1)))
            for at, part in enumerate(("low", "high"))
        )
        bits = made.constant("bits", HALF, "uint8")
        return made.add("packed", "BitOr", [low, made.add("shifted", "ShiftLeft", [high, bits])])


def find_weights(
    view: GraphView, name: str, loaded: frozenset[str], *, transposed: bool = False
) -> BlockWeights | None:
    """The codes, scales and zero points of a constant [n, k], or [k, n] if it is `transposed`, if a
    kernel can multiply by them. `loaded`: the constants that programs may read.
    """
    type_ = view.type(name)
    if name not in view.constant_names or type_.rank != 2 or any(map(is_symbolic, type_.shape)):
        return None
    sums = [*_operands(view, name, "Add"), (name, None)]
    return next(
        (
            found
            for product, minima in sums
            for shifted, scales in _operands(view, product, "Mul")
            if (found := _weights(view, shifted, scales, minima, transposed=transposed))
            and all(item in loaded or view.scalar(item) is not None for item in _names(found))
        ),
        None,
    )


def _operands(view: GraphView, name: str, op: str) -> Iterator[tuple[str, str]]:
    """The operands of the node of a commutative operator that computes a name, in both orders."""
    node = view.producer(name, op, only_use=False)
    if node is not None:
        first, second = node.inputs
        yield from ((first, second), (second, first))


def _names(weights: BlockWeights) -> list[str]:
    parameters = (weights.scales, weights.points, weights.minima)
    return [weights.codes.name, *(item.name for item in parameters if item is not None)]


def _weights(
    view: GraphView, shifted: str, scaled: str, minima: str | None, *, transposed: bool
) -> BlockWeights | None:
    shape = known_shape(view.type(shifted).shape, shifted)
    axis = 0 if transposed else 1
    name, zero = _without_zero(view, shifted)
    codes = _codes(view, name)
    if codes is None or len(shape) != 2:
        return None
    middle = MIDDLE if codes.signed else 0
    center = middle + (_number(view, zero) or 0)
    if center in code_range(codes.bits, view.type(codes.name).dtype):
        zero = zero if _number(view, zero) is None else None
    else:
        center = middle
    if minima is not None and zero is not None:
        return None
    scales = _parameter(view, scaled, axis)
    points, least = (
        None if item is None else _parameter(view, item, axis) for item in (zero, minima)
    )
    if (
        scales is None
        or (zero is not None and (points is None or points.block not in (0, scales.block)))
        or (minima is not None and (least is None or least.block != scales.block))
    ):
        return None
    block = scales.block or _usual_block(shape[axis], codes.bits)
    if not _fits(block, shape[axis], codes.bits):
        return None
    return BlockWeights(codes, block, scales, int(center), points, least, transposed)


def _without_cast(view: GraphView, name: str) -> str:
    """What a name is cast from, if that keeps values."""
    while (node := view.producer(name, "Cast", only_use=False)) is not None:
        if node.attrs_as(Cast).dtype not in KEEPING.get(view.type(node.inputs[0]).dtype, ()):
            break
        (name,) = node.inputs
    return name


def _without_zero(view: GraphView, name: str) -> tuple[str, str | None]:
    """A name, or the codes and the zero point that it is the difference of."""
    node = view.producer(_without_cast(view, name), "Sub", only_use=False)
    return (name, None) if node is None else (node.inputs[0], node.inputs[1])


def _number(view: GraphView, zero: str | None) -> float | None:
    """The value of a zero point, if it is known."""
    return None if zero is None else view.scalar(_without_cast(view, zero))


def _codes(view: GraphView, name: str) -> Codes | None:
    name = _without_cast(view, name)
    if view.type(name).dtype not in ("int8", "uint8") or name not in view.constant_names:
        return None
    node = view.producer(name, "UnpackBits", only_use=False)
    if node is None or node.attrs_as(UnpackBits).bits != HALF:
        return Codes(name)
    return Codes(node.inputs[0], HALF, node.attrs_as(UnpackBits).signed)


def _parameter(view: GraphView, name: str, axis: int) -> Parameter | None:
    """A scale, zero point or minimum of blocks along an axis of a matrix."""
    size = view.type(name).size
    name = _without_cast(view, name)
    node = view.producer(name, "Repeat", only_use=False)
    if node is not None:
        attrs, (blocks,) = node.attrs_as(Repeat), node.inputs
        whole = attrs.size % attrs.times == 0 and attrs.axis == axis
        shape = view.type(blocks).shape
        if not whole or len(shape) != 2:
            return None
        return Parameter(blocks, attrs.times if shape[axis] != 1 else 0)
    shape = view.type(name).shape
    return Parameter(name, 0) if size == 1 or (len(shape) == 2 and shape[axis] == 1) else None


def _usual_block(depth: int, bits: int) -> int:
    """A length of blocks of activations, for weights that have no blocks."""
    return min(
        (size for size in range(1, depth + 1) if _fits(size, depth, bits)),
        key=lambda size: abs(size - USUAL_BLOCK),
        default=0,
    )


def _fits(block: int, depth: int, bits: int) -> bool:
    """Whether there is a kernel for blocks of this length."""
    template = find_template("block_product")
    least, most = template.depth
    group = template.together * BYTE // bits
    return block >= least and depth <= most and depth % block == 0 and block % group == 0

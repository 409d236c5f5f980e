"""64-bit integers as pairs of 32-bit words, which every backend computes exactly."""

from dataclasses import dataclass

from webkiln.ops.builder import GraphBuilder, Tensor


@dataclass(frozen=True, slots=True)
class Wide:
    """A 64-bit number: its upper and lower words."""

    b: GraphBuilder
    high: Tensor
    low: Tensor

    def __add__(self, other: "Wide") -> "Wide":
        low = self.b.op("Add", [self.low, other.low])
        carry = self.b.op("Cast", [self.b.op("Less", [low, self.low])], {"dtype": "uint32"})
        return Wide(self.b, self.high + other.high + carry, low)

    def __mul__(self, other: "Wide") -> "Wide":
        """Modulo 2^64."""
        b = self.b
        (a1, a0), (c1, c0) = halves(b, self.low), halves(b, other.low)
        middle = a1 * c0 + shifted(b, a0 * c0, -16)
        upper = bits(b, middle, 0xFFFF) + a0 * c1
        low = b.op("BitOr", [shifted(b, upper, 16), bits(b, a0 * c0, 0xFFFF)])
        high = a1 * c1 + shifted(b, middle, -16) + shifted(b, upper, -16)
        return Wide(b, high + self.high * other.low + self.low * other.high, low)

    def __xor__(self, other: "Wide") -> "Wide":
        return Wide(
            self.b,
            *(
                self.b.op("BitXor", [x, y])
                for x, y in ((self.high, other.high), (self.low, other.low))
            ),
        )

    def rotated(self, count: int) -> "Wide":
        """Rotate right."""
        high, low = (self.high, self.low) if count < 32 else (self.low, self.high)
        count %= 32
        pair = ((low, high), (high, low)) if count else ()
        words = [
            self.b.op("BitOr", [shifted(self.b, x, 32 - count), shifted(self.b, y, -count)])
            for x, y in pair
        ]
        return Wide(self.b, *words) if words else Wide(self.b, high, low)

    def upper(self, count: int) -> "Wide":
        """Shift right."""
        b = self.b
        if count >= 32:
            return Wide(
                b, self.high * 0, shifted(b, self.high, 32 - count) if count > 32 else self.high
            )
        low = b.op("BitOr", [shifted(b, self.low, -count), shifted(b, self.high, 32 - count)])
        return Wide(b, shifted(b, self.high, -count), low)

    def modulo(self, divisor: int) -> Tensor:
        """The remainder of a division, by 8-bit digits."""
        rest = self.low * 0
        for word in (self.high, self.low):
            for shift in (24, 16, 8, 0):
                digit = bits(self.b, shifted(self.b, word, -shift) if shift else word, 0xFF)
                rest = self.b.binary(
                    "Mod", self.b.op("BitOr", [shifted(self.b, rest, 8), digit]), divisor
                )
        return rest


def halves(b: GraphBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
    return shifted(b, x, -16), bits(b, x, 0xFFFF)


def bits(b: GraphBuilder, x: Tensor, mask: int) -> Tensor:
    return b.binary("BitAnd", x, mask)


def shifted(b: GraphBuilder, x: Tensor, count: int) -> Tensor:
    """Shift left, or right if `count` is negative."""
    return b.binary("ShiftLeft" if count > 0 else "ShiftRight", x, abs(count))


def wide(b: GraphBuilder, like: Tensor, value: int) -> Wide:
    """A constant."""
    return Wide(
        b,
        *(
            b.op("Broadcast", [b.constant(word, "uint32")], {"shape": like.shape})
            for word in (value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF)
        ),
    )


def chosen(condition: Tensor, yes: Wide, no: Wide) -> Wide:
    b = yes.b
    return Wide(
        b,
        b.op("Where", [condition, yes.high, no.high]),
        b.op("Where", [condition, yes.low, no.low]),
    )

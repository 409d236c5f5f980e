"""TensorFlow's hashes of integers, computed in 32-bit words, which every backend has.

A 64-bit hash is a pair of uint32 tensors. `tf.strings.to_hash_bucket_fast` uses
`farmhashna::Hash64` of FarmHash (https://github.com/google/farmhash), `tf.sparse.cross_hashed` uses
`FingerprintCat64` of TensorFlow.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.vectors import encoded
from webkiln.frontends.keras.layers.wide import Wide, chosen, shifted, wide
from webkiln.frontends.keras.policies import policy_of
from webkiln.ops.builder import GraphBuilder, Tensor

K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
CROSS_KEY = 0xDECAFCAFFE
"""The initial value of `tf.sparse.cross_hashed`."""
CROSS_FACTOR = 0xC6A4A7935BD1E995
SIP_STARTS = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
DIGITS = {"int32": 10, "int64": 19}
"""The maximum number of characters of a number."""
MAX_BUCKETS = 1 << 24


def mixed(x: Wide) -> Wide:
    return x ^ x.upper(47)


def of_two(u: Wide, v: Wide, factor: Wide) -> Wide:
    """FarmHash's HashLen16."""
    return mixed((v ^ mixed((u ^ v) * factor)) * factor) * factor


class Text:
    """The decimal representation of each number [..., 1]: its bytes from the right and from the
    left [..., width], zero-padded, and its length.
    """

    def __init__(self, b: GraphBuilder, x: Tensor) -> None:
        self.b, self.short = b, x.dtype != "int64"
        right, left, length = self._words(x) if x.dtype == "bool" else self._digits(x)
        self.right, self.left, self.length = (
            b.op("Cast", [item], {"dtype": "uint32"}) for item in (right, left, length)
        )
        self.none = b.binary("Mul", self.length, 0)

    def _words(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """true and false"""
        both = [("eurt\0", "eslaf"), ("true\0", "false"), ("\4", "\5")]
        texts = [
            [self.b.constant(np.array([*map(ord, word)], "int32")) for word in pair]
            for pair in both
        ]
        right, left, length = (self.b.op("Where", [x, yes, no]) for yes, no in texts)
        return right, left, length

    def _digits(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        b = self.b
        rest, digits, axis = x, [], x.type.rank - 1
        for _ in range(DIGITS[x.dtype]):
            digits.append(b.op("Abs", [b.binary("Rem", rest, 10)]))
            rest = b.binary("Div", rest, 10)
        digits.append(b.binary("Mul", x, 0))
        kept = b.op("Cast", [b.op("Concat", digits, {"axis": axis})], {"dtype": "int32"})
        place, none = (
            b.op("Iota", [], {"size": len(digits), "dtype": "int32"}),
            b.constant(0, "int32"),
        )
        filled = b.op(
            "Where",
            [b.binary("Greater", kept, 0), b.binary("Add", place, 1), b.constant(1, "int32")],
        )
        count = b.op("ReduceMax", [filled], {"axes": (axis,), "keepdims": True})
        below = b.binary("Less", x, 0)
        sign = b.op(
            "Where",
            [b.op("And", [b.op("Equal", [place, count]), below]), b.constant(45, "int32"), none],
        )
        right = b.op("Where", [b.op("Less", [place, count]), b.binary("Add", kept, 48), sign])
        length = b.op("Add", [count, b.op("Cast", [below], {"dtype": "int32"})])
        behind = b.op("Sub", [b.binary("Sub", length, 1), place])
        found = b.op("GatherElements", [right, b.binary("Max", behind, 0)], {"axis": axis})
        left = b.op("Where", [b.binary("GreaterEqual", behind, 0), found, none])
        return right, left, length

    def letter(self, text: Tensor, number: int) -> Tensor:
        if number >= text.shape[-1]:
            return self.none
        starts = (0,) * (text.type.rank - 1) + (number,)
        return self.b.op(
            "Slice",
            [text],
            {"starts": starts, "sizes": self.length.shape, "steps": (1,) * text.type.rank},
        )

    def word(self, text: Tensor, numbers: Sequence[int]) -> Tensor:
        y = self.letter(text, numbers[0])
        for place, number in enumerate(numbers[1:], 1):
            y = self.b.op("BitOr", [y, shifted(self.b, self.letter(text, number), 8 * place)])
        return y

    def from_left(self, first: int) -> Wide:
        """8 characters."""
        return Wide(
            self.b,
            self.word(self.left, range(first + 4, first + 8)),
            self.word(self.left, range(first, first + 4)),
        )

    def from_right(self, last: int) -> Wide:
        """The 8 characters that start at this distance from the end."""
        return Wide(
            self.b,
            self.word(self.right, range(last - 5, last - 9, -1)),
            self.word(self.right, range(last - 1, last - 5, -1)),
        )

    def small(self, y: Tensor) -> Wide:
        return Wide(self.b, self.none, y)

    def constant(self, value: int) -> Wide:
        return wide(self.b, self.length, value)


def farm_hash(text: Text) -> Wide:
    """Hash64 of strings of at most 20 characters."""
    b, length, small = text.b, text.length, text.small
    k0, k1, k2 = map(text.constant, (K0, K1, K2))
    factor = k2 + small(length * 2)
    middle = b.op(
        "Where",
        [b.binary("Equal", length, 1), text.letter(text.left, 0), text.letter(text.left, 1)],
    )
    y = small(text.letter(text.left, 0) + shifted(b, middle, 8))
    z = small(length + shifted(b, text.letter(text.right, 0), 2))
    result = mixed(y * k2 ^ z * k0) * k2
    head = text.word(text.left, range(4))
    u = Wide(b, shifted(b, head, -29), shifted(b, head, 3)) + small(length)
    result = chosen(
        b.binary("Less", length, 4),
        result,
        of_two(u, small(text.word(text.right, (3, 2, 1, 0))), factor),
    )
    first, last = text.from_left(0) + k2, text.from_right(8)
    long = of_two(last.rotated(37) * factor + first, (first.rotated(25) + last) * factor, factor)
    result = chosen(b.binary("Less", length, 8), result, long)
    if text.short:
        return result
    start, then = text.from_left(0) * k1, text.from_left(8)
    end, before = last * factor, text.from_right(16) * k2
    longer = of_two(
        (start + then).rotated(43) + end.rotated(30) + before,
        start + (then + k2).rotated(18) + end,
        factor,
    )
    return chosen(b.binary("Less", length, 17), result, longer)


def sip_hash(text: Text, key: Sequence[int]) -> Wide:
    """SipHash-2-4 (Aumasson & Bernstein 2012) of strings of at most 20 characters."""
    b, length = text.b, text.length
    low, high = (text.constant(word % (1 << 64)) for word in key)
    state = [
        text.constant(start) ^ word
        for start, word in zip(SIP_STARTS, (low, high, low, high), strict=True)
    ]
    for block in range(2 if text.short else 3):
        final = b.binary("Less", length, 8 * block + 8)
        whole = text.from_left(8 * block)
        counted = Wide(
            b,
            b.op("BitOr", [whole.high, b.op("Where", [final, shifted(b, length, 24), text.none])]),
            whole.low,
        )
        after = _rounds([*state[:3], state[3] ^ counted], 2)
        after[0] = after[0] ^ counted
        due = b.binary("GreaterEqual", length, 8 * block)
        state = [chosen(due, new, old) for new, old in zip(after, state, strict=True)]
    state[2] = state[2] ^ text.constant(0xFF)
    v0, v1, v2, v3 = _rounds(state, 4)
    return v0 ^ v1 ^ v2 ^ v3


def _rounds(state: Sequence[Wide], count: int) -> list[Wide]:
    v0, v1, v2, v3 = state
    for _ in range(count):
        v0, v2 = v0 + v1, v2 + v3
        v1, v3 = v1.rotated(51) ^ v0, v3.rotated(48) ^ v2
        v0 = v0.rotated(32)
        v2, v0 = v2 + v1, v0 + v3
        v1, v3 = v1.rotated(47) ^ v2, v3.rotated(43) ^ v0
        v2 = v2.rotated(32)
    return [v0, v1, v2, v3]


def buckets_of(b: GraphBuilder, layer: Layer, x: Tensor, count: int, salt: Any) -> Tensor:
    """The bucket of each number's decimal representation among `count`, uint32: by FarmHash or,
    with a salt, by SipHash.
    """
    check_count(layer, count)
    if x.dtype not in DIGITS and x.dtype != "bool":
        x = b.op(
            "Cast",
            [x],
            {
                "dtype": "int64"
                if x.dtype in {"uint32", "uint64"} or x.dtype.startswith("float")
                else "int32"
            },
        )
    text = Text(b, b.op("Reshape", [x], {"shape": (*x.shape, 1)}))
    hashed = (
        farm_hash(text)
        if salt is None
        else sip_hash(text, [salt, salt] if isinstance(salt, int) else salt)
    )
    return b.op("Reshape", [hashed.modulo(count)], {"shape": x.shape})


def check_count(layer: Layer, count: int) -> None:
    if count > MAX_BUCKETS:
        raise layer.unsupported(f"{count} buckets", f"There are at most {MAX_BUCKETS}")


def crossed(b: GraphBuilder, numbers: list[Tensor]) -> Wide:
    """The hash of integers in `tf.sparse.cross_hashed`, before the modulo."""
    factor, result = wide(b, numbers[0], CROSS_FACTOR), wide(b, numbers[0], CROSS_KEY)
    for x in numbers:
        above = b.binary("FloorDiv", b.binary("FloorDiv", x, 1 << 16), 1 << 16)
        given = Wide(b, *(b.op("Cast", [word], {"dtype": "uint32"}) for word in (above, x)))
        result = (result ^ factor ^ mixed(given * factor) * factor) * factor
        result = mixed(mixed(result) * factor)
    return result


def hashing(converter: Converter, layer: Layer) -> None:
    """Buckets of decimal representations. The mask value has a separate bucket 0. The runtime
    computes buckets of strings.
    """
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    config, b = layer.config, converter.builder
    count, mask = int(config["num_bins"]), config.get("mask_value")
    if config.get("indices"):
        return _set_encoded(converter, layer, converter.cast(x, "int64"), count)
    apart = mask is not None and count > 1
    y = converter.cast(
        buckets_of(b, layer, x, count - 1 if apart else count, config.get("salt")), "int64"
    )
    if mask is not None and apart:
        y = b.op(
            "Where", [b.binary("Equal", x, mask), b.constant(0, "int64"), b.binary("Add", y, 1)]
        )
    return _set_encoded(converter, layer, y, count)


def hashed_crossing(converter: Converter, layer: Layer) -> None:
    """Buckets of combinations of integers."""
    numbers = [
        converter.cast(converter.get_variable(ref), "int64")
        for ref in converter.get_input_tensor(layer)
    ]
    count = int(layer.config["num_bins"])
    check_count(layer, count)
    _set_encoded(
        converter,
        layer,
        converter.cast(crossed(converter.builder, numbers).modulo(count), "int64"),
        count,
    )


def _set_encoded(converter: Converter, layer: Layer, y: Tensor, count: int) -> None:
    mode = layer.config["output_mode"]
    y = encoded(converter.builder, layer, y, mode, count)
    converter.set_variable(
        converter.get_output_tensor(layer)[0],
        converter.cast(y, policy_of(layer.spec).work) if mode == "int" else y,
    )

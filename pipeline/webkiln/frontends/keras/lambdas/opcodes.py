"""The instructions of CPython's bytecode that straight-line expressions consist of.

Numbers and the sizes of inline caches are those of CPython's Lib/opcode.py and
Include/opcode_ids.h.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webkiln.frontends.keras.lambdas.marshalled import Code

OPERATORS = {
    "POWER": "**",
    "MULTIPLY": "*",
    "MODULO": "%",
    "ADD": "+",
    "SUBTRACT": "-",
    "DIVIDE": "/",
    "TRUE_DIVIDE": "/",
    "FLOOR_DIVIDE": "//",
}
NUMBERED = {0: "+", 2: "//", 5: "*", 6: "%", 8: "**", 10: "-", 11: "/"}
"""BINARY_OP's arguments of Python 3.11 and later. In-place operators follow at 13."""
IN_PLACE = 13

_EARLY = {
    1: "POP_TOP",
    2: "ROT_TWO",
    4: "DUP_TOP",
    9: "NOP",
    11: "UNARY_NEGATIVE",
    10: "UNARY_POSITIVE",
    19: "BINARY_POWER",
    20: "BINARY_MULTIPLY",
    22: "BINARY_MODULO",
    23: "BINARY_ADD",
    24: "BINARY_SUBTRACT",
    25: "BINARY_SUBSCR",
    26: "BINARY_FLOOR_DIVIDE",
    27: "BINARY_TRUE_DIVIDE",
    55: "BINARY_ADD",
    56: "BINARY_SUBTRACT",
    57: "BINARY_MULTIPLY",
    59: "BINARY_MODULO",
    67: "BINARY_POWER",
    28: "BINARY_FLOOR_DIVIDE",
    29: "BINARY_TRUE_DIVIDE",
    83: "RETURN_VALUE",
    92: "UNPACK_SEQUENCE",
    100: "LOAD_CONST",
    102: "BUILD_TUPLE",
    103: "BUILD_LIST",
    106: "LOAD_ATTR",
    108: "IMPORT_NAME",
    109: "IMPORT_FROM",
    116: "LOAD_GLOBAL",
    124: "LOAD_FAST",
    125: "STORE_FAST",
    133: "BUILD_SLICE",
}
_2_7 = {
    **_EARLY,
    21: "BINARY_DIVIDE",
    58: "BINARY_DIVIDE",
    131: "CALL_PAIRS",
    30: "SLICE_0",
    31: "SLICE_1",
    32: "SLICE_2",
    33: "SLICE_3",
}
_3_6 = {
    **_EARLY,
    131: "CALL_FUNCTION",
    141: "CALL_FUNCTION_KW",
    160: "LOAD_METHOD",
    161: "CALL_METHOD",
    82: "LIST_TO_TUPLE",
    162: "LIST_EXTEND",
}
_3_11 = {
    1: "POP_TOP",
    2: "PUSH_NULL",
    9: "NOP",
    10: "UNARY_POSITIVE",
    11: "UNARY_NEGATIVE",
    25: "BINARY_SUBSCR",
    82: "LIST_TO_TUPLE",
    83: "RETURN_VALUE",
    92: "UNPACK_SEQUENCE",
    99: "SWAP",
    100: "LOAD_CONST",
    102: "BUILD_TUPLE",
    103: "BUILD_LIST",
    106: "LOAD_ATTR",
    108: "IMPORT_NAME",
    109: "IMPORT_FROM",
    116: "LOAD_GLOBAL_NULL",
    120: "COPY",
    122: "BINARY_OP",
    124: "LOAD_FAST",
    125: "STORE_FAST",
    133: "BUILD_SLICE",
    151: "RESUME",
    160: "LOAD_METHOD",
    162: "LIST_EXTEND",
    166: "PRECALL",
    171: "CALL",
    172: "KW_NAMES",
}
_3_12 = {
    **{number: name for number, name in _3_11.items() if number not in {10, 82, 160, 166}},
    26: "BINARY_SLICE",
    106: "LOAD_ATTR_METHOD",
    121: "RETURN_CONST",
}
_3_13 = {
    4: "BINARY_SLICE",
    5: "BINARY_SUBSCR",
    30: "NOP",
    32: "POP_TOP",
    34: "PUSH_NULL",
    36: "RETURN_VALUE",
    42: "UNARY_NEGATIVE",
    45: "BINARY_OP",
    47: "BUILD_LIST",
    50: "BUILD_SLICE",
    52: "BUILD_TUPLE",
    53: "CALL",
    57: "CALL_KW",
    61: "COPY",
    74: "IMPORT_FROM",
    75: "IMPORT_NAME",
    81: "LIST_EXTEND",
    82: "LOAD_ATTR_METHOD",
    83: "LOAD_CONST",
    85: "LOAD_FAST",
    88: "LOAD_FAST_LOAD_FAST",
    91: "LOAD_GLOBAL_NULL",
    103: "RETURN_CONST",
    110: "STORE_FAST",
    111: "STORE_FAST_LOAD_FAST",
    112: "STORE_FAST_STORE_FAST",
    115: "SWAP",
    117: "UNPACK_SEQUENCE",
    149: "RESUME",
}
_CACHES_3_11 = {
    "BINARY_SUBSCR": 4,
    "UNPACK_SEQUENCE": 1,
    "LOAD_ATTR": 4,
    "LOAD_GLOBAL_NULL": 5,
    "BINARY_OP": 1,
    "LOAD_METHOD": 10,
    "PRECALL": 1,
    "CALL": 4,
}
_CACHES_3_12 = {
    "BINARY_SUBSCR": 1,
    "UNPACK_SEQUENCE": 1,
    "LOAD_ATTR_METHOD": 9,
    "LOAD_GLOBAL_NULL": 4,
    "BINARY_OP": 1,
    "CALL": 3,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The bytecode of some versions of Python. `word`: an instruction is two bytes; otherwise one,
    and two more for an argument. `caches`: the empty instructions after some.
    """

    name: str
    layout: str
    instructions: Mapping[int, str]
    word: bool = True
    caches: Mapping[str, int] | None = None


DIALECTS = (
    Dialect("2.7", "2.7", _2_7, word=False),
    Dialect("3.5", "3.7", {**_EARLY, 131: "CALL_PAIRS"}, word=False),
    Dialect("3.7", "3.7", _3_6),
    Dialect("3.10", "3.10", _3_6),
    Dialect("3.11", "3.13", _3_11, caches=_CACHES_3_11),
    Dialect("3.12", "3.13", _3_12, caches=_CACHES_3_12),
    Dialect("3.13", "3.13", _3_13, caches=_CACHES_3_12),
)
HAVE_ARGUMENT = 90
"""In Python 3.5 and before, instructions from this number on have an argument."""


class Unrecognised(Exception):
    """The code is not a straight-line expression of known functions."""


def instructions(code: Code, dialect: Dialect) -> Iterator[tuple[str, int]]:
    """The names and arguments of all instructions. Raises Unrecognised at any other."""
    place, data = 0, code.code
    while place < len(data):
        number = data[place]
        name = dialect.instructions.get(number)
        if name is None:
            raise Unrecognised
        if dialect.word:
            argument, size = data[place + 1] if place + 1 < len(data) else 0, 2
        elif number >= HAVE_ARGUMENT:
            argument, size = int.from_bytes(data[place + 1 : place + 3], "little"), 3
        else:
            argument, size = 0, 1
        place += size
        count = (dialect.caches or {}).get(name, 0)
        if any(data[place : place + 2 * count : 2]) or place > len(data):
            raise Unrecognised
        place += 2 * count
        yield name, argument

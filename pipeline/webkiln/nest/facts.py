"""What a backend can do, as a value that is passed down to planning and printing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """`width`: lanes of a vector register (1: none). `shapes`: for contractions, (lanes, tile count) by descending preference. `dot`: those
    of contractions whose lanes lie on a reduction loop. `map_lanes`: lanes otherwise.

    `packs`: whether constant operands are repacked into panels along the vector axis. `alignment`: bytes.
    """

    backend: str
    width: int
    shapes: tuple[tuple[int, int], ...]
    dot: tuple[int, int]
    map_lanes: int
    packs: bool
    alignment: int = 64
    staging: int = 32 << 20

"""Targets: the capabilities of a backend, as a value that is passed to planning and printing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

WORDS = {
    "float64": "float32",
    "float16": "float32",
    "bool": "uint32",
    "uint8": "uint32",
    "uint16": "uint32",
    "uint64": "uint32",
    "int8": "int32",
    "int16": "int32",
    "int64": "int32",
}
"""Storage in memory that consists of words of 32 bits."""
ARITHMETIC = "float16-arithmetic"
"""The precision with which the products of large contractions are computed in float16, too, where
the device can.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """`width`: lanes of a vector register (1: none). `shapes`: for contractions, (lanes, tile
    count)
    by descending preference. `dot`: those of contractions whose lanes lie on a reduction loop.
    `streamed`: that of those with few neighbours for constants beyond caches. `each`: of those of
    which all factors move along the vector axis; `sliding`: of those of them of which neighbours on
    the tile axis read the same elements. `alone`: the lanes of contractions without a tile, a
    vector by a matrix, where they are more. `map_lanes`: lanes otherwise.

    `threads`: whether points are computed by invocations instead of loops, of which neighbours best
    read neighbouring memory. `group`: how many of them share a point where few have long
    reductions. `blocks`: from which sizes on they keep the factors of a contraction in the memory
    of their workgroup, and after that what may be measured against it. `packs`: whether constant
    operands are repacked into panels along the vector axis. `alignment`: bytes. `storage`: the
    dtype as which elements of a dtype lie in memory, where it is another one. `targets`: where a
    launch draws to textures, which are numbered buffers instead of parts of one memory, how many it
    can draw to; else 0. `pixels`: whether tiles of contractions go over the ends of rows, so that
    only the end of an image cuts them off. `zeros`: how many elements of 0 there are to be read
    where a guard is false. `winograd`: whether convolutions are computed by fewer multiplications.
    `ahead`: whether panels are read before their turn. `between`: the bytes that may lie between
    products which can be computed by blocks of their rows. `strips`: those between depthwise
    convolutions and products. `precision`: of numbers where nobody but kernels looks, `float32`,
    `float16` or `ARITHMETIC`. `wide`: whether 64-bit integers are as fast as others. `shared`:
    whether several processors may compute parts of a launch. `tried`: what may be measured against
    `shapes`, `dot`, `each` and `alone` (as (lanes, 1)), by these names, at most five each; all
    lanes are powers of two.
    """

    backend: str
    width: int
    shapes: tuple[tuple[int, int], ...]
    dot: tuple[int, int]
    each: tuple[int, int]
    map_lanes: int
    packs: bool
    alone: int = 0
    streamed: tuple[int, int] | None = None
    sliding: tuple[tuple[int, int], ...] = ()
    threads: bool = False
    group: int = 1
    blocks: tuple[int, ...] = ()
    alignment: int = 64
    staging: int = 32 << 20
    storage: Mapping[str, str] = field(default_factory=dict)
    targets: int = 0
    pixels: bool = False
    zeros: int = 0
    winograd: bool = False
    ahead: bool = False
    between: int = 0
    strips: int = 0
    precision: str = "float32"
    wide: bool = False
    shared: bool = False
    tried: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def stores_float16(self) -> bool:
        """Whether memory holds float16 where nobody but kernels looks."""
        return self.precision != "float32"

    @property
    def loops(self) -> bool:
        """Whether kernels loop over their points, instead of being run at each."""
        return not self.threads and not self.targets

    def stored(self, dtype: str) -> str:
        return self.storage.get(dtype, dtype)

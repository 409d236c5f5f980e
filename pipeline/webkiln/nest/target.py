"""Targets: the capabilities of backends, for planning and printing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

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
"""Dtype -> its storage in memory that consists of 32-bit words."""
ARITHMETIC = "float16-arithmetic"
"""The precision that stores intermediate values as float16, and also multiplies large contractions
in float16 if the device supports it.
"""

Contraction = Literal["shapes", "dot", "depthwise", "matvec"]
"""The kinds of contractions that have tiles of their own: the fields of Target with these names."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor under one backend: 10^9 operations and bytes per second, milliseconds of overhead
    per launch, lanes of a vector, and vector registers.
    """

    gflops: float
    gigabytes: float
    launch: float
    width: int
    registers: int


@dataclass(frozen=True, slots=True)
class Target:
    """The capabilities of a backend.

    Tiles of contractions are pairs (lanes, count): the numbers of neighbours on the vector axis and
    on the tile axis that are computed together. All lanes are powers of two.
    """

    backend: str
    width: int
    """The lanes of a vector register; 1: no vectors."""
    shapes: tuple[tuple[int, int], ...]
    """The tiles of contractions, by descending preference."""
    dot: tuple[int, int]
    """The tile of contractions whose vector axis is a reduction axis."""
    depthwise: tuple[int, int]
    """The tile of contractions where all factors depend on the vector axis, such as depthwise
    convolutions.
    """
    map_lanes: int
    """The lanes of nests other than contractions."""
    packs: bool
    """Whether constant operands are repacked into panels along the vector axis."""
    matvec: int = 0
    """The lanes of contractions without a tile axis, such as matrix-vector products, if more than
    those of `shapes`.
    """
    streamed: tuple[int, int] | None = None
    """The tile of contractions with few points per constant, and constants beyond the caches."""
    sliding: tuple[tuple[int, int], ...] = ()
    """The tiles of `depthwise` contractions whose windows overlap on the tile axis."""
    threads: bool = False
    """Whether each point is computed by an invocation, instead of a loop. Neighbouring invocations
    should then access neighbouring memory.
    """
    group: int = 1
    """The number of invocations that share a point, if there are few points with long reductions.
    """
    blocks: tuple[int, ...] = ()
    """The minimum sizes from which workgroups keep the factors of a contraction in shared memory;
    the first is the default, the others are candidates for tuning.
    """
    alignment: int = 64
    """The alignment of buffers, in bytes."""
    staging: int = 32 << 20
    """The size of the staging area for weights, in bytes."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """Dtype -> the dtype that stores it in memory, if it is another one."""
    vector_dtypes: tuple[str, ...] = ("float32",)
    """The dtypes that are loaded into the lanes of a vector and stored from it, if there are
    vectors. Lanes have 32 bits: narrower elements are widened on load, and wrap or round on store.
    """
    holds_float16: bool = False
    """Whether float16 values are float32 between layers, without rounding. Inputs, outputs and
    states stay float16.
    """
    render_targets: int = 0
    """The number of textures that a launch can draw to, if buffers are textures instead of ranges
    of one memory; else 0.
    """
    tiles_span_rows: bool = False
    """Whether the tiles of contractions continue across the ends of rows, so that only the end of
    an image leaves a partial tile.
    """
    zero_elements: int = 0
    """The number of zeros in memory that loads with a false guard can read."""
    winograd: bool = False
    """Whether convolutions may use the Winograd algorithm."""
    prefetch: bool = False
    """Whether panels are prefetched."""
    tiled_product_bytes: int = 0
    """The maximum size of intermediate values between products that are computed by blocks of rows.
    """
    row_tile_bytes: int = 0
    """The maximum size of intermediate values between depthwise convolutions and products that are
    computed by tiles of rows.
    """
    precision: str = "float32"
    """The precision of intermediate values: `float32`, `float16` or `ARITHMETIC`."""
    fast_int64: bool = False
    """Whether 64-bit integers are as fast as 32-bit ones."""
    multithreaded: bool = False
    """Whether several threads may share a launch."""
    machine: Machine | None = None
    """For the cost model, if there is a choice between schedules. One core of a server processor in
    Chromium 156, measured with a loop of fused multiply-adds, a sum over more than the caches
    contain, and an empty launch.
    """
    candidates: Mapping[Contraction, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """The tiles that tuning compares with the default, by kind of contraction; at most five each.
    Those of `matvec` have count 1.
    """

    def configured(self, winograd: bool, precision: str, rounds_float16: bool) -> "Target":
        """The target with the options of a recipe, which cannot add Winograd convolutions."""
        return replace(
            self,
            winograd=self.winograd and winograd,
            precision=precision,
            holds_float16=self.holds_float16 and not rounds_float16,
        )

    @property
    def stores_float16(self) -> bool:
        """Whether intermediate values are stored as float16."""
        return self.precision != "float32"

    @property
    def loops(self) -> bool:
        """Whether kernels loop over points, instead of computing one per invocation or fragment."""
        return not self.threads and not self.render_targets

    def stored(self, dtype: str) -> str:
        return self.storage.get(dtype, dtype)

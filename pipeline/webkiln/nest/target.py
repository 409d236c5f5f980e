"""Targets: the capabilities of backends, for planning and printing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from webkiln.nest.kernel_template import Template

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
FLOAT16 = "float16"
"""The precision that stores intermediate values as float16."""
ARITHMETIC = "float16-arithmetic"
"""The precision that stores intermediate values as float16, and also multiplies large contractions
in float16 if the device supports it.
"""

Contraction = Literal["shapes", "dot", "depthwise", "matvec"]
"""The kinds of contractions that have tiles of their own: the fields of Tiles with these names."""


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


Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of contractions: pairs (lanes, count), the numbers of neighbours on the vector axis
    and on the tile axis that are computed together. All lanes are powers of two.
    """

    shapes: tuple[Shape, ...] = ((1, 1),)
    """By descending preference."""
    dot: Shape = (1, 1)
    """The tile of contractions whose vector axis is a reduction axis."""
    depthwise: Shape = (1, 1)
    """The tile of contractions where all factors depend on the vector axis, such as depthwise
    convolutions.
    """
    map_lanes: int = 1
    """The lanes of nests other than contractions."""
    matvec: int = 0
    """The lanes of contractions without a tile axis, such as matrix-vector products, if more than
    those of `shapes`.
    """
    streamed: Shape | None = None
    """The tile of contractions with few points per constant, and constants beyond the caches."""
    sliding: tuple[Shape, ...] = ()
    """The tiles of `depthwise` contractions whose windows overlap on the tile axis."""
    candidates: Mapping[Contraction, tuple[Shape, ...]] = field(default_factory=dict)
    """The tiles that tuning compares with the default, by kind of contraction; at most five each.
    Those of `matvec` have count 1.
    """


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector registers, of `width` lanes of 32 bits; 1: no vectors. `dtypes` are those that are
    loaded into lanes and stored from them: narrower elements are widened on load, and wrap or
    round on store. `divides`: whether there is a vector form of integer division.
    """

    width: int = 1
    dtypes: tuple[str, ...] = ("float32",)
    divides: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """Where operands lie."""

    storage: Mapping[str, str] = field(default_factory=dict)
    """Dtype -> the dtype that stores it in memory, if it is another one."""
    alignment: int = 64
    """The alignment of buffers, in bytes."""
    staging: int = 32 << 20
    """The size of the staging area for weights, in bytes."""
    zero_elements: int = 0
    """The number of zeros in memory that loads with a false guard can read."""
    packs: bool = False
    """Whether constant operands are repacked into panels along the vector axis."""
    caches: str = "float32"
    """The dtype of caches of keys and values: `float32`, `float16` or `int8`."""
    segment: int | None = None
    """The bytes that every device can bind, if constants can have buffers of their own."""


@dataclass(frozen=True, slots=True)
class Loops:
    """Kernels loop over points, on a CPU."""

    multithreaded: bool = False
    """Whether several threads may share a launch."""
    tiles_span_rows: bool = False
    """Whether the tiles of contractions continue across the ends of rows, so that only the end of
    an image leaves a partial tile.
    """
    prefetch: bool = False
    """Whether panels are prefetched."""
    fast_int64: bool = False
    """Whether 64-bit integers are as fast as 32-bit ones."""
    holds_float16: bool = True
    """Whether float16 values are float32 between layers, without rounding. Inputs, outputs and
    states stay float16.
    """
    products: str = "exact"
    """How products with weights of 4 or 8 bits are computed: `exact`; `dot`, which quantizes the
    other factor; or `auto`, which does so where the weights have 4 bits and it is faster.
    """


@dataclass(frozen=True, slots=True)
class GpuClass:
    """A class of GPUs. The engine assigns a device to one (`runtime/engines/webgpu_classes.js`).

    `multiprocessors` execute workgroups independently: streaming multiprocessors, compute units
    or cores. `gigahertz`: their clock. `launch`: microseconds from one launch to the next. The
    bandwidth of the cache follows from the first two (`plan/gpu_cost.py`). The numbers of `data
    centre` were measured on an H100 in Chromium 156; the others are those of data sheets.
    """

    name: str
    multiprocessors: int
    gigahertz: float
    launch: float


WORKGROUP_BYTES = 1 << 14
"""The workgroup memory that every device has."""
GPU_CLASSES = (
    GpuClass("integrated", 8, 1.2, 5),
    GpuClass("laptop", 24, 1.6, 4),
    GpuClass("desktop", 64, 2.2, 3),
    GpuClass("data centre", 132, 1.98, 2.2),
)
"""By ascending size. A smaller number of multiprocessors belongs to GPUs that CPUs emulate."""


@dataclass(frozen=True, slots=True)
class Invocations:
    """Each point is computed by an invocation of a compute shader. Neighbouring invocations should
    access neighbouring memory.
    """

    group: int = 1
    """The number of invocations that share a point, if there are few points with long reductions.
    """
    blocks: tuple[int, ...] = ()
    """The minimum sizes from which workgroups keep the factors of a contraction in shared memory;
    the first is the default, the others are candidates for tuning.
    """
    classes: tuple[GpuClass, ...] = ()
    """The classes for which products have forms of their own (`plan/product_forms.py`)."""
    products: str = "exact"
    """As that of `Loops`; of more than a few rows, products are exact."""
    matrices: bool = False
    """Whether large products may use subgroup matrices (`plan/matrix_forms.py`)."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Each point is computed by a fragment, and buffers are textures. A launch can draw to this
    many of them.
    """

    targets: int


@dataclass(frozen=True, slots=True)
class ChainBytes:
    """The maximum size in bytes of intermediate results in a chain of products, and in one with the
    windows of depthwise convolutions. Chains with larger ones are computed in blocks; 0: never.
    """

    products: int = 0
    windows: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """The capabilities of a backend."""

    backend: str
    runs: Loops | Invocations | Draws
    tiles: Tiles = Tiles()
    vectors: Vectors = Vectors()
    memory: Memory = Memory()
    templates: tuple[Template, ...] = ()
    """The kernel templates, which are used where they are expected to be faster than loops."""
    winograd: bool = False
    """Whether convolutions may use the Winograd algorithm."""
    chain_bytes: ChainBytes = ChainBytes()
    precision: str = "float32"
    """The precision of intermediate values: `float32`, `FLOAT16` or `ARITHMETIC`."""
    machine: Machine | None = None
    """For the cost model, if there is a choice between schedules. One core of a server processor in
    Chromium 156, measured with a loop of fused multiply-adds, a sum over more than the caches
    contain, and an empty launch.
    """

    def configured(
        self,
        winograd: bool,
        precision: str,
        rounds_float16: bool,
        products: str = "exact",
        caches: str = "float32",
        matrices: bool = False,
    ) -> "Target":
        """The target with the options of a recipe, which cannot add Winograd convolutions."""
        runs = self.runs
        if isinstance(runs, Loops):
            held = runs.holds_float16 and not rounds_float16
            runs = replace(runs, holds_float16=held, products=products)
        elif isinstance(runs, Invocations):
            runs = replace(runs, products=products, matrices=matrices)
        return replace(
            self,
            runs=runs,
            memory=replace(self.memory, caches=caches),
            winograd=self.winograd and winograd,
            precision=precision,
        )

    @property
    def loops(self) -> Loops | None:
        return self.runs if isinstance(self.runs, Loops) else None

    @property
    def invocations(self) -> Invocations | None:
        return self.runs if isinstance(self.runs, Invocations) else None

    @property
    def products(self) -> str:
        """How products with weights of 4 or 8 bits are computed."""
        return "exact" if isinstance(self.runs, Draws) else self.runs.products

    @property
    def draws(self) -> Draws | None:
        return self.runs if isinstance(self.runs, Draws) else None

    @property
    def least_gpu(self) -> int:
        """The multiprocessors of the smallest class of GPUs; 0 if there are no classes."""
        classes = self.invocations.classes if self.invocations else ()
        return classes[0].multiprocessors if classes else 0

    @property
    def stores_float16(self) -> bool:
        """Whether intermediate values are stored as float16."""
        return self.precision != "float32"

    @property
    def holds_float16(self) -> bool:
        """Whether float16 values are float32 between layers."""
        return self.loops is not None and self.loops.holds_float16

    def stored(self, dtype: str) -> str:
        return self.memory.storage.get(dtype, dtype)

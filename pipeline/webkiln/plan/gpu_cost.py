"""The time of a product on a GPU, in a form of `plan/product_forms.py`.

The formula and its constants were fitted to 19,000 measurements of products and convolutions on an
H100 under Chromium 156. Within the forms that the compiler uses, the first choice took 1.16 of the
time of the best one on average, and at most 2.1. Other classes differ in the number of
multiprocessors, the clock and the launch; their constants in cycles are assumed to be equal.
"""

from dataclasses import dataclass
from math import ceil, floor

from webkiln.nest.schedule import Form
from webkiln.nest.target import GpuClass

WARP = 32
"""The invocations that execute together."""
THREADS, WORKGROUPS, REGISTERS, SHARED_BYTES = 2048, 32, 65_536, 228 * 1024
"""What a multiprocessor holds: invocations, workgroups, registers, bytes of workgroup memory."""
OWN_REGISTERS, MAX_REGISTERS = 30, 255
"""Registers of an invocation in addition to its tile and factors, and at most."""
STEP_CYCLES = 61.0
READ_CYCLES = 1010.0
"""The latency of a read of a block from the cache."""
PREFETCHED = 0.69
"""The share of it that remains if the block is loaded during the step before."""
BARRIER_CYCLES = 35.0
SHARED_READ_CYCLES = 23.0
"""The latency of workgroup memory, for four terms of the sum."""
ISSUE_CYCLES = 1.37
"""A multiply-add of one invocation."""
DIRECT_CYCLES, DIRECT_CYCLES_OF_TAPS = 14.0, 32.0
"""A read of four elements by one invocation, in a product and in a convolution."""
LONG_STEPS = 16
"""The steps from which direct reads have their whole latency."""
MULTIPLY_FACTOR, SHARED_FACTOR, DIRECT_FACTOR, STAGE_FACTOR = 1.77, 0.55, 0.8, 3.4
"""Cycles of a multiprocessor for a multiply-add, a read of workgroup memory, a direct read and a
staged vector of all invocations of a warp.
"""
START_CYCLES = 2530.0
"""The start and the end of a workgroup."""
CACHE_BYTES, PARTS_BYTES = 58.0, 193.0
"""Bytes that a multiprocessor reads in a cycle from the cache, and parts of sums that it writes and
reads again.
"""
SECOND_LAUNCH = 1.45
"""The time of the launch that adds parts, in launches."""
OCCUPIED = 5.5
"""Warps of a multiprocessor that direct reads need."""
MAX_DIRECT_STEPS = 4
"""Steps of a part beyond which direct reads are slow."""


@dataclass(frozen=True, slots=True)
class ProductSize:
    """A batch of products of `rows` by `columns`, each a sum of `depth` terms. `taps`: rows are
    pixels of an image, and the sum has a loop over taps. `others`: the rows and columns of those
    that share its launch.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    taps: bool = False
    others: tuple[tuple[int, int], ...] = ()

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The rows and columns of all products of the launch."""
        return ((self.rows, self.columns), *self.others)


def workgroups(size: ProductSize, form: Form, split: int) -> int:
    """The workgroups of the first launch."""
    tiles = (ceil(rows / form.rows) * ceil(columns / form.columns) for rows, columns in size.shapes)
    return size.batch * split * sum(tiles)


def steps(size: ProductSize, form: Form, split: int) -> float:
    """The steps of a part of a workgroup."""
    group = form.group
    return size.depth / group.depth / split / group.parts


def suits(size: ProductSize, form: Form, split: int, gpu: GpuClass) -> bool:
    """Whether direct reads are fast: short sums, and enough workgroups."""
    if form.group.staged:
        return True
    warps = workgroups(size, form, split) * form.group.size / WARP
    return steps(size, form, split) <= MAX_DIRECT_STEPS and warps >= OCCUPIED * gpu.multiprocessors


def microseconds(size: ProductSize, form: Form, split: int, gpu: GpuClass) -> float:
    """The expected time of a product whose sum is split among workgroups."""
    groups, own = workgroups(size, form, split), _OneWorkgroup(form)
    resident = own.resident
    count = steps(size, form, split)
    tail = groups / (resident * gpu.multiprocessors)
    waves = 1.0 if tail <= 1 else (tail + max(1, ceil(tail))) / 2
    together = min(resident, ceil(groups / gpu.multiprocessors))
    cycles = START_CYCLES + count * max(own.latency(size, count), together * own.busy)
    computing = waves * cycles / gpu.gigahertz / 1e3
    rate = CACHE_BYTES * gpu.multiprocessors * gpu.gigahertz * 1e3
    reading = groups * count * own.bytes / rate
    total: float = gpu.launch + (computing**3 + reading**3) ** (1 / 3)
    if split > 1:
        elements = size.batch * sum(rows * columns for rows, columns in size.shapes)
        parts = elements * 4 * (2 * split + 1)
        rate = PARTS_BYTES * gpu.multiprocessors * gpu.gigahertz * 1e3
        total += SECOND_LAUNCH * gpu.launch + parts / rate
    return total


class _OneWorkgroup:
    """A step of a workgroup."""

    def __init__(self, form: Form) -> None:
        self.form, self.group = form, form.group
        self.depth, self.tile = self.group.depth, form.lanes * form.count
        self.warps = ceil(self.group.size / WARP)
        self.row_vectors = form.rows * self.depth / 4
        self.column_vectors = form.columns * self.depth / 4

    @property
    def resident(self) -> int:
        """The workgroups that a multiprocessor holds at once."""
        group = self.group
        shared = 16.0 * (group.parts - 1) * group.columns * group.rows * self.tile / 4
        registers = OWN_REGISTERS + self.tile + 4 * (self.form.lanes + self.form.count)
        if group.staged:
            shared += 16 * (self.form.rows * (self.depth / 4 + 1) + self.column_vectors)
            staged = self.row_vectors + self.column_vectors
            registers += 4 * ceil(staged / (group.columns * group.rows))
        held = min(registers, MAX_REGISTERS) * max(WARP, group.size)
        limits = (
            THREADS / group.size,
            WORKGROUPS,
            SHARED_BYTES / (shared + 1024),
            REGISTERS / held,
        )
        return max(1, floor(min(limits)))

    @property
    def bytes(self) -> float:
        """The distinct bytes that a step reads."""
        return 16 * self.group.parts * (self.row_vectors + self.column_vectors)

    @property
    def busy(self) -> float:
        """The cycles of a step on a multiprocessor that does nothing else."""
        group, columns = self.group, min(self.group.columns, WARP)
        multiplied = self.warps * self.tile * self.depth / 4
        rows = self.warps * self.form.count * self.depth / 4
        across = self.warps * self.depth * self.form.lanes / 4 * max(1, columns / 8)
        if not group.staged:
            direct = rows * max(1, WARP / columns) + across
            return MULTIPLY_FACTOR * multiplied + DIRECT_FACTOR * direct
        staged = group.parts * (self.row_vectors + self.column_vectors) / 8
        return (
            MULTIPLY_FACTOR * multiplied + SHARED_FACTOR * (rows + across) + STAGE_FACTOR * staged
        )

    def latency(self, size: ProductSize, count: float) -> float:
        """The cycles of a step that waits for its reads."""
        cycles = STEP_CYCLES + ISSUE_CYCLES * self.depth * self.tile
        if self.group.staged:
            shared = BARRIER_CYCLES + SHARED_READ_CYCLES * self.depth / 4
            return cycles + READ_CYCLES * PREFETCHED + shared
        reads = self.depth / 4 * (self.form.count + self.form.lanes)
        each = DIRECT_CYCLES_OF_TAPS if size.taps else DIRECT_CYCLES
        share = min(1.0, max(0.0, (count - 1) / LONG_STEPS))
        return cycles + READ_CYCLES + each * reads * share

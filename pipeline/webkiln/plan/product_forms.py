"""How workgroups compute products on a class of GPUs.

Two forms are within a tenth of the best of 400 candidates on nearly all products and convolutions
of common networks, measured on an H100 under Chromium 156:

* *staged*: workgroup memory contains both factors of a step, and invocations load those of the next
  step meanwhile;
* *direct*: the factors are read where they lie, and parts of a workgroup divide the sum. It is slow
  for long sums, and where few workgroups run at once.

In both, the sum may be split among workgroups, whose results a second launch adds. A few tiles and
sizes of workgroups suffice: in the cost model (`plan/gpu_cost.py`), the best of them is within 1.2
of the best measured candidate on 46 products and convolutions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from webkiln.nest.expr import FLOAT
from webkiln.nest.nest import Loop
from webkiln.nest.schedule import Form, Workgroup
from webkiln.nest.steps import NestCall
from webkiln.nest.target import ARITHMETIC, GpuClass, Target
from webkiln.plan.gpu_cost import ProductSize, microseconds, suits
from webkiln.plan.invocations import is_product, schedule_invocations
from webkiln.plan.vector_axis import VectorAxis, vector_axis
from webkiln.plan.vectors import extent, has_known_extents

FLOATS = ("float32", "float16")
"""Factors of other dtypes are codes, for which there are templates."""
SPLITS = (1, 2, 3, 4, 6, 8, 9, 12, 16)
"""The numbers of parts of a sum."""
UNIT = 16
"""The terms of a sum in a step of staged forms."""
NEAR = 1.2
"""A class of GPUs has a form of its own if that of the next larger one takes more of its time, so
that programs have few shaders.
"""
MIN_ROWS, MIN_COLUMNS, MIN_DEPTH = 8, 16, 32
"""Smaller products have other schedules."""


def _staged(lanes: int, rows: int) -> Form:
    return Form(lanes, 4, Workgroup(8, rows, depth=UNIT, staged=True))


def _direct(lanes: int, count: int, group: tuple[int, int, int], depth: int) -> Form:
    return Form(lanes, count, Workgroup(*group, depth))


FORMS = (
    _staged(4, 8),
    _staged(8, 8),
    _staged(8, 16),
    _staged(8, 32),
    *(
        _direct(lanes, count, group, depth)
        for depth in (32, 16, 8)
        for lanes, count, group in (
            (4, 8, (16, 1, 8)),
            (4, 4, (8, 1, 8)),
            (4, 8, (16, 2, 4)),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class Product:
    """A product of rows by columns: a contraction in which one factor moves along the tile axis
    `down` and the other along the vector axis `across`. `batch`: the number of such products.
    `others`: the rows and columns of products that share its launch.
    """

    call: NestCall
    across: Loop
    down: Loop
    batch: int
    aligned: bool
    others: tuple[tuple[int, int], ...] = ()

    @property
    def columns(self) -> int:
        return extent(self.call, self.across)

    @property
    def rows(self) -> int:
        return extent(self.call, self.down)

    @property
    def inner(self) -> int:
        """The iterations of the innermost loop of the sum."""
        return extent(self.call, self.call.nest.reduce[-1])

    @property
    def depth(self) -> int:
        """The terms of the sum."""
        return prod(extent(self.call, loop) for loop in self.call.nest.reduce)

    @property
    def sums(self) -> tuple[int, ...]:
        """The iterations of all loops of the sum."""
        return tuple(extent(self.call, loop) for loop in self.call.nest.reduce)

    @property
    def size(self) -> ProductSize:
        taps = self.depth // max(self.inner, 1)
        depth = taps * -(-self.inner // UNIT) * UNIT
        return ProductSize(self.batch, self.rows, self.columns, depth, taps > 1, self.others)


@dataclass(frozen=True, slots=True)
class Choice:
    """A form, and the parts into which the sum is split: how many in all, and of which loops."""

    form: Form
    split: int
    parts: Mapping[str, int]


def match_product(call: NestCall, target: Target, constants: Collection[str]) -> Product | None:
    """Match a product of floats that is large enough, of known size."""
    nest, runs = call.nest, target.invocations
    if runs is None or not nest.is_contraction or not nest.reduce or len(nest.outputs) != 1:
        return None
    floats = all(nest.inputs[item.value[0]].dtype in FLOATS for item in nest.loads)
    if nest.accumulators[0].body.type != FLOAT or not floats or not has_known_extents(call):
        return None
    found = vector_axis(call, target, constants)
    if not isinstance(found, VectorAxis) or found.is_reduced or found.tile.axis is None:
        return None
    by_name = {loop.axis: loop for loop in nest.axes}
    across, down = by_name[found.name], by_name[found.tile.axis]
    if not is_product(call, across.axis, down.axis):
        return None
    schedule = schedule_invocations(replace(call, form=FORMS[-1]), found, target, runs)
    others = (loop for loop in nest.axes if loop not in (across, down))
    product = Product(
        call,
        across,
        down,
        prod(extent(call, loop) for loop in others),
        schedule.aligned and schedule.unroll is not None,
    )
    large = (
        product.rows >= MIN_ROWS
        and product.columns >= MIN_COLUMNS
        and product.depth >= MIN_DEPTH
        and product.inner >= UNIT
    )
    return product if large else None


def choose_forms(product: Product, classes: Sequence[GpuClass]) -> list[Choice]:
    """The form of a product for each class of GPUs: the one that is expected to be fastest, or that
    of the next larger class where it is nearly as fast.
    """
    found: list[Choice] = []
    for gpu in reversed(classes):
        found.append(_fastest(product, gpu, found[-1] if found else None))
    return found[::-1]


def _fastest(product: Product, gpu: GpuClass, usual: Choice | None) -> Choice:
    """The fastest choice on a class of GPUs, or `usual` if it takes at most `NEAR` of its time."""
    size = product.size

    def time(item: Choice) -> float:
        return microseconds(size, item.form, item.split, gpu)

    choices = [item for item in candidates(product) if suits(size, item.form, item.split, gpu)]
    best = min(choices, key=time)
    return usual if usual in choices and time(usual) <= NEAR * time(best) else best


def in_precision(product: Product, choice: Choice, precision: str) -> Choice:
    """The choice with staged factors that are float16 where the device and the precision can."""
    if product.call.exact or precision != ARITHMETIC:
        return choice
    group = choice.form.group
    form = replace(choice.form, workgroup=replace(group, float16=group.staged))
    return replace(choice, form=form)


def candidates(product: Product) -> Iterator[Choice]:
    """The forms that compute a product. Direct reads are whole vectors of whole steps."""
    for form in FORMS:
        direct = not form.group.staged
        if direct and not (product.aligned and product.inner % form.group.depth == 0):
            continue
        for split in SPLITS:
            parts = split_loops(product, split, form.group.depth)
            if parts is not None:
                yield Choice(form, split, parts)


def split_loops(product: Product, split: int, depth: int) -> dict[str, int] | None:
    """The number of parts of each loop of the sum, whose product is `split`; loops without parts
    are left out. Parts of the innermost loop have whole steps of `depth` terms, those of the other
    loops equal sizes. None if the loops cannot be divided so.
    """
    parts: dict[str, int] = {}
    *outer, inner = product.call.nest.reduce
    rest = split
    for loop, unit in ((inner, depth), *((loop, 1) for loop in outer)):
        size = extent(product.call, loop)
        largest = max(
            part
            for part in range(1, rest + 1)
            if part == 1 or (rest % part == 0 and size % (part * unit) == 0)
        )
        if largest > 1:
            parts[loop.axis] = largest
        rest //= largest
    return parts if rest == 1 else None

"""Rows that neighbouring calls share: whatever one of them reads of another's result lies in the
same row.

Rows are numbered along the dimensions of a row space. The loops of a call cover these dimensions:
one loop each, or one loop over several of them, such as 768 rows for 6 heads of 128. In each buffer
that a call writes, an element belongs to the row of its coordinates along the same dimensions,
which are identified by size and stride, whatever the shapes of the views.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from webkiln.ir.dim import Size
from webkiln.nest.affine import depends
from webkiln.nest.expr import Expr
from webkiln.nest.nest import load_index
from webkiln.nest.steps import NestCall, Step, View, calls

Place = tuple[tuple[Size, Size], ...]
"""Size and stride, in elements, of each dimension of the row space in a buffer."""
Cover = Mapping[str, tuple[int, int]]
"""The loops of a call over rows: loop -> the first dimension that it covers, and the end."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Steps that share rows. `sizes` of the row space, and the loops of each call over it."""

    sizes: tuple[Size, ...]
    steps: tuple[Step, ...]
    covers: tuple[Cover, ...]


class RowSpace:
    """Collects the longest prefix of steps that share the rows of the first call along its loops
    `names`. Without names, there is one row.
    """

    def __init__(self, first: NestCall, names: Sequence[str]) -> None:
        extents = {loop.axis: first.args[loop.extent.value] for loop in first.nest.axes}
        self.sizes = tuple(extents[name] for name in names)
        self.steps: list[Step] = []
        self.covers: list[Cover] = []
        self._first: Cover = {name: (number, number + 1) for number, name in enumerate(names)}
        self._places: dict[str, Place | None] = {}
        self._read: set[str] = set()

    def add(self, step: Step) -> bool:
        """Add a step, if it shares the rows. Nothing more can be added after a refusal."""
        covers: list[Cover] = []
        for call in calls([step]):
            cover = self._first if not self._places else self._cover(call)
            if cover is None or not self._write(call, cover):
                return False
            covers.append(cover)
        self.steps.append(step)
        self.covers += covers
        return True

    @property
    def count(self) -> int:
        """The number of steps."""
        return len(self.steps)

    def rows(self) -> Rows:
        return Rows(self.sizes, tuple(self.steps), tuple(self.covers))

    def _cover(self, call: NestCall) -> Cover | None:
        """The loops over the rows of the earlier results that a call reads. If it reads none, they
        are its outermost loops, if these have the sizes of the row space.
        """
        if not self.sizes:
            return {}
        extents = {loop.axis: call.args[loop.extent.value] for loop in call.nest.axes}
        found: dict[str, tuple[int, int]] = {}
        for expr in call.nest.loads:
            view = call.inputs[expr.value[0]]
            if view.name not in self._places:
                self._read.add(view.name)
                continue
            place = self._places[view.name]
            cover = (
                None
                if place is None
                else dict(_matches(view, load_index(expr), extents, place, self.sizes))
            )
            if cover is None or not _is_whole(cover.values(), len(self.sizes)):
                return None
            if any(found.setdefault(name, span) != span for name, span in cover.items()):
                return None
        outermost = [*extents.items()][: len(self.sizes)]
        if not found and tuple(size for _, size in outermost) == self.sizes:
            found = {name: (number, number + 1) for number, (name, _) in enumerate(outermost)}
        return found if _is_whole(found.values(), len(self.sizes)) else None

    def _write(self, call: NestCall, cover: Cover) -> bool:
        """Note where a call writes the rows. Several writes of a buffer must agree."""
        if not self.sizes:
            self._places |= dict.fromkeys((view.name for view in call.outputs), ())
            return True
        names = [view.name for view in call.outputs]
        if not self._places:
            self._read |= {view.name for view in call.inputs}
        if self._read.intersection(names):
            return False
        for view, out in zip(call.outputs, call.nest.outputs, strict=True):
            places = {self._place(call, view, index, cover) for _, index in out.stores}
            place = places.pop() if len(places) == 1 else None
            if view.name in self._places and (place is None or self._places[view.name] != place):
                return False
            self._places[view.name] = place
        return True

    def _place(
        self, call: NestCall, view: View, index: tuple[Expr, ...], cover: Cover
    ) -> Place | None:
        """Size and stride of each dimension of the row space in what a call stores, if each is
        one.
        """
        extents = {loop.axis: call.args[loop.extent.value] for loop in call.nest.axes}
        place: dict[int, tuple[Size, Size]] = {}
        for name, (first, end) in cover.items():
            along = [d for d, item in enumerate(index) if depends(item, name)]
            if len(along) != 1 or not _is_plain(index[along[0]], name):
                return None
            d = along[0]
            if view[d] != extents[name]:
                return None
            stride = prod(view.shape[d + 1 :])
            for number in reversed(range(first, end)):
                place[number] = (self.sizes[number], stride)
                stride = stride * self.sizes[number]
        return tuple(place[number] for number in range(len(self.sizes)))


def _matches(
    view: View,
    index: tuple[Expr, ...],
    extents: Mapping[str, Size],
    place: Place,
    sizes: Sequence[Size],
) -> Iterator[tuple[str, tuple[int, int]]]:
    """The loops along which a load moves through the dimensions of a row space at `place`."""
    for d, item in enumerate(index):
        if item.op != "axis" or view[d] != extents.get(item.value):
            continue
        stride = prod(view.shape[d + 1 :])
        for first in range(len(sizes)):
            for end in range(first + 1, len(sizes) + 1):
                span = [
                    (sizes[number], stride * prod(sizes[number + 1 : end]))
                    for number in range(first, end)
                ]
                if prod(sizes[first:end]) == view[d] and tuple(span) == place[first:end]:
                    yield item.value, (first, end)


def _is_plain(item: Expr, name: str) -> bool:
    return item.op == "axis" and item.value == name


def _is_whole(spans: Iterable[tuple[int, int]], count: int) -> bool:
    """Whether spans cover each of `count` dimensions once."""
    return sorted(n for first, end in spans for n in range(first, end)) == list(range(count))

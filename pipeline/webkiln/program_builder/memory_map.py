"""The memory map of a program: the address of every Variable on a backend."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.nest.steps import NestCall, Step, View, every_step
from webkiln.nest.target import Target
from webkiln.plan import kernel as kernels
from webkiln.plan.alignment import VECTOR
from webkiln.plan.arena import Arena, Buffer, TransientWeight
from webkiln.plan.float16_storage import narrow
from webkiln.plan.memory import flat
from webkiln.plan.textures import Textures
from webkiln.program_builder.planning import PlannedProgram, externally_visible
from webkiln.weights.encoding import Stored
from webkiln.weights.shards import Piece, stored


def allocator_for(target: Target) -> Arena | Textures:
    """The allocator of a backend."""
    return Textures() if target.render_targets else Arena(target.alignment)


def data_dependent_bounds(steps: Iterable[Step]) -> dict[str, int]:
    """The upper bound of each data-dependent size, in the order of the steps that compute them."""
    bounds: dict[str, int] = {}
    for step in every_step(steps):
        if step.computes is not None:
            name, bound = step.computes
            bounds[name] = symbols.substitute(bound, bounds)
    return bounds


class MemoryMap:
    """Allocates all Variables of a planned program. `offsets` maps the roots of Variables to their
    addresses. Persistent buffers come first, in the order of the calls to `_reserve`; Variables in
    `live_out` stay live to the end.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        planned: PlannedProgram,
        layout: Sequence[Piece],
        live_out: Collection[str],
    ) -> None:
        self.graph, self.target, self.planned = graph, target, planned
        self.data_dependent = data_dependent_bounds(planned.lowered.steps)
        self.allocator = allocator_for(target)
        self.offsets = self.allocator.offsets
        self._reserve_weights(layout)
        for state in graph.states:
            self._reserve(self.root(state.output))
        for name in graph.inputs:
            self._reserve(name)
        for name in sorted({self.root(name) for name in graph.outputs.values()}):
            self._reserve(name)
        self._allocate(live_out)

    def buffer(self, name: str, type_: Type) -> Buffer:
        """The buffer of a Variable, at its largest size."""
        lanes = VECTOR if name in self.planned.texels else 1
        quarter = self.planned.quarters.get(name)
        size = type_.size if quarter is None else VECTOR * quarter
        return Buffer(
            self._storage(name, type_.dtype),
            symbols.substitute(size, self.data_dependent),
            lanes,
            quarter is not None,
        )

    def root(self, name: str) -> str:
        """The buffer that has the elements of a Variable."""
        return self.planned.lowered.root(name)

    def narrow(self, call: NestCall) -> NestCall:
        """A call outside the steps, over Variables in the dtypes in which they are stored."""
        buffers = self.planned.lowered.buffers

        def stored_view(view: View) -> View:
            buffer = buffers.get(view.name)
            dtype = view.type.dtype if buffer is None else buffer.storage
            return View(view.name, Type(dtype, view.shape))

        packed = not self.target.render_targets
        return narrow(call.with_views(stored_view), self.planned.float16, packed=packed)

    def _storage(self, name: str, dtype: str) -> str:
        if name in self.planned.float16:
            return "float16"
        buffer = self.planned.lowered.buffers.get(name)
        return self.target.stored(dtype) if buffer is None else buffer.storage

    def _reserve(self, name: str) -> None:
        self.allocator.reserve(name, self.buffer(name, self.graph.type(name)))

    def _reserve_weights(self, layout: Sequence[Piece]) -> None:
        for state in self.graph.states:
            self._reserve(state.input)
        transient = self._transient_weights()
        transient_names = {item.name for item in transient}
        for weight in stored(self.graph):
            if weight.name not in transient_names:
                self._reserve_weight(weight)
        for call in self.planned.filters:
            self._reserve_panel(call.outputs[0])
        staging = max((piece.bytes for piece in layout), default=0)
        if staging > self.target.staging:
            raise InternalError(
                f"a row of a weight has {staging} bytes; the staging area of"
                f" {self.target.backend} has {self.target.staging}"
            )
        self.allocator.stage(staging, transient)

    def _reserve_weight(self, weight: Stored) -> None:
        """Reserve a weight in the layout that its readers request."""
        buffer, destination = (
            self.buffer(weight.name, self.graph.type(weight.name)),
            self.planned.destinations.get(weight.name),
        )
        if destination is not None:
            view = View(weight.name, self.graph.type(weight.name)).reshaped(destination.shape)
            buffer = replace(buffer, elements=kernels.elements(view, destination.panel))
        self.allocator.reserve(weight.name, buffer)

    def _reserve_panel(self, view: View) -> None:
        """Reserve a transformed weight in the layout that its reader requests."""
        self.allocator.reserve(
            view.name,
            Buffer(
                self._storage(view.name, view.type.dtype),
                kernels.elements(view, self.planned.destinations[view.name].panel),
            ),
        )

    def _transient_weights(self) -> list[TransientWeight]:
        """The weights that only the calls of `filters` read, in the order of their last use."""
        last_uses = {
            view.name: call.outputs[0].name for call in self.planned.filters for view in call.inputs
        }
        persistent = {
            view.name for step in flat(self.planned.lowered.steps) for view in step.reads
        } | externally_visible(self.graph)
        order = [call.outputs[0].name for call in self.planned.filters]
        transient = [
            TransientWeight(name, self.buffer(name, self.graph.type(name)), last)
            for name, last in last_uses.items()
            if name not in persistent
        ]
        return sorted(transient, key=lambda item: order.index(item.last))

    def _allocate(self, live_out: Collection[str]) -> None:
        """Allocate the Variables that only live between launches."""
        steps = self.planned.lowered.steps
        written = [view for step in flat(steps) for view in step.writes]
        buffers = {
            view.name: self.buffer(view.name, view.type)
            for view in written
            if view.name not in self.offsets
        }
        self.allocator.allocate(
            steps, buffers, {self.root(name) for name in live_out} & set(buffers)
        )

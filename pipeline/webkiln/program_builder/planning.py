"""Lower a graph for one backend and choose the schedule of each call."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webkiln.ir.graph import Graph
from webkiln.ir.types import Type, itemsize
from webkiln.lower.lower import unfused
from webkiln.lower.pipeline import Pass, finishing, restructuring
from webkiln.nest.program import Program
from webkiln.nest.schedule import panel_of
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan import algorithms, copy_padding, merge_pixels, storage
from webkiln.plan.float16_storage import float16_variables, narrow_steps
from webkiln.plan.schedule import Choice, choose, plain
from webkiln.plan.storage import stored_call
from webkiln.plan.texels import draw, in_quarters, packed
from webkiln.plan.tiles import tile
from webkiln.plan.tuning import UNTUNED, Tuning
from webkiln.weights.init import ELEMENTS, HEADER, Destination, decode_call
from webkiln.weights.shards import Piece, stored


@dataclass(frozen=True, slots=True)
class PlannedProgram:
    """The calls of a graph, each with its schedule. `destinations`: the layouts of weights.
    `filters`: calls that transform weights once, after they have been decoded. `texels`: the
    Variables stored four elements to a texel. `quarters`: those of them stored as four layers, with
    the elements of a layer. `float16`: the Variables stored as float16. `decided`: the tuning
    decisions for each call.
    """

    lowered: Program
    choices: tuple[Choice, ...]
    destinations: dict[str, Destination]
    filters: tuple[NestCall, ...] = ()
    texels: frozenset[str] = frozenset()
    quarters: Mapping[str, int] = field(default_factory=dict)
    float16: frozenset[str] = frozenset()
    decided: tuple[tuple[Mapping[str, Any], ...], ...] = ()

    @property
    def scheduled(self) -> Iterator[tuple[Choice, tuple[Mapping[str, Any], ...]]]:
        """The schedule and the tuning decisions of each call."""
        return zip(self.choices, self.decided or ((),) * len(self.choices), strict=True)


def plan(
    graph: Graph,
    target: Target,
    keep: Sequence[str] = (),
    layout: Sequence[Piece] = (),
    tuning: Tuning = UNTUNED,
) -> PlannedProgram:
    """Return the calls of `graph` for a backend with their schedules. Variables in `keep` are
    computed even where fusion could eliminate them. `layout`: the pieces in which weights arrive.
    """
    planned = _schedule(graph, target, keep, layout, tuning)
    if not target.stores_float16:
        return planned
    lowered, packed = planned.lowered, not target.render_targets
    visible = {lowered.root(name) for name in (*externally_visible(graph), *keep)}
    visible |= {
        *graph.inputs,
        *(state.input for state in graph.states),
        *(view.name for call in planned.filters for view in call.inputs),
    }
    transformed = {view.name for call in planned.filters for view in call.outputs}
    weights = {item.name for item in stored(graph) if item.dtype == "float32"} | transformed
    float16 = float16_variables(lowered.steps, planned.choices, weights, visible, packed=packed)
    return replace(
        planned,
        float16=float16,
        lowered=replace(lowered, steps=narrow_steps(lowered.steps, float16, packed=packed)),
    )


def passes(target: Target, tuning: Tuning = UNTUNED) -> list[Pass]:
    """The passes between a graph and schedules, in order."""
    found = restructuring(target)
    found.append(Pass("fast_convolutions", lambda program: algorithms.run(program, target, tuning)))
    if target.loops and target.width > 1:
        found.append(Pass("copy_padding", lambda program: copy_padding.run(program, target)))
    found += finishing(target)
    found.append(Pass("storage", lambda program: storage.run(program, target)))
    if target.tiles_span_rows:
        found.append(Pass("merge_pixels", lambda program: merge_pixels.run(program, target)))
    return found


def _schedule(
    graph: Graph, target: Target, keep: Sequence[str], layout: Sequence[Piece], tuning: Tuning
) -> PlannedProgram:
    """Lower, fuse and schedule."""
    program = unfused(graph, keep)
    for item in passes(target, tuning):
        program = item.run(program)
    if target.render_targets:
        return _plan_textures(graph, target, program, layout)
    constants = program.repackable
    tiles = [tile(call, target, constants, tuning) for call in program.calls]
    targets = [item.target for item in tiles]
    choices, destinations = _layouts(program, targets, constants, constants)
    decisions = (None if item.decision is None else item.decision.to_json() for item in tiles)
    decided = tuple(
        tuple(item for item in (program.decided.get(call.part_of), own) if item is not None)
        for call, own in zip(program.calls, decisions, strict=True)
    )
    return PlannedProgram(program, choices, destinations, program.init, decided=decided)


def _layouts(
    program: Program,
    targets: Sequence[Target],
    constants: Collection[str],
    packable: Collection[str],
) -> tuple[tuple[Choice, ...], dict[str, Destination]]:
    """The schedule of each call and the layout of each constant. A constant is stored as a panel if
    all its readers request the same panel; if two request different ones, it is not `packable`.
    """
    choices = tuple(
        choose(call, target, packable) for call, target in zip(program.calls, targets, strict=True)
    )
    readers = [
        *zip(program.init, (plain(call, targets[0], "") for call in program.init), strict=True),
        *zip(program.calls, choices, strict=True),
    ]
    destinations, clashing = _destinations(readers, constants)
    if clashing:
        return _layouts(program, targets, constants, set(packable) - clashing)
    return choices, destinations


def externally_visible(graph: Graph) -> set[str]:
    """The Variables that are read outside kernels: outputs, and initial and next states."""
    return {
        *graph.outputs.values(),
        *(name for state in graph.states for name in (state.initial, state.output)),
    }


def _plan_textures(
    graph: Graph, target: Target, lowered: Program, layout: Sequence[Piece]
) -> PlannedProgram:
    """Decide which Variables are packed four elements to a texel, and schedule the draws."""
    decoding = [
        decoding_call(piece, Destination(piece.weight.shape, None), target)[0] for piece in layout
    ]
    types = {
        name: Type(target.stored(variable.dtype), variable.shape)
        for name, variable in graph.variables.items()
    }
    pairs = [
        (state.input, name)
        for state in graph.states
        for name in (state.initial, lowered.root(state.output))
    ]
    texels = packed([*decoding, *lowered.steps], types, pairs)
    quarters = in_quarters([*decoding, *lowered.steps], texels, pairs)
    return PlannedProgram(
        lowered,
        tuple(draw(call, texels, quarters) for call in lowered.calls),
        {},
        texels=texels,
        quarters=quarters,
    )


def _destinations(
    readers: Iterable[tuple[NestCall, Choice]], weights: Collection[str]
) -> tuple[dict[str, Destination], set[str]]:
    """The layout of each weight, and the weights for which two readers request different panels."""
    destinations: dict[str, Destination] = {}
    clashing: set[str] = set()
    for call, choice in readers:
        for position, view in enumerate(call.inputs):
            if view.name in weights:
                panel = panel_of(choice.schedule.panels, position)
                requested = Destination(view.shape, panel)
                if destinations.setdefault(view.name, requested) != requested and (
                    requested.panel or destinations[view.name].panel
                ):
                    clashing.add(view.name)
    return destinations, clashing


def decoding_call(
    piece: Piece, destination: Destination, target: Target
) -> tuple[NestCall, str | None]:
    """The call that decodes a piece of weights, and the 64-bit dtype of its elements if they are
    narrowed before decoding.
    """
    raw = decode_call(piece, destination)
    elements = next(view.type.dtype for view in raw.inputs if view.name == ELEMENTS)
    narrow = target.stored(elements) != elements and itemsize(elements) == 8
    return stored_call(raw, target, {HEADER} if narrow else {HEADER, ELEMENTS}), (
        elements if narrow else None
    )

"""Graph -> program.json: kernels, launches and the memory map of one backend."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir import dim, symbols
from webkiln.ir.constraints import Need, needs
from webkiln.ir.graph import Divisibility, Graph
from webkiln.ir.guards import expand_quotients
from webkiln.ir.notation import size_to_json
from webkiln.ir.serial import distribution_json
from webkiln.ir.types import Type, itemsize
from webkiln.lower.lower import Lowered, lower
from webkiln.nest import custom_kernel as custom_kernels
from webkiln.nest import procedure as procedures
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.procedure import Procedure
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    HostCall,
    NestCall,
    Repeat,
    Step,
    View,
    WhileLoop,
    nested_blocks,
    reads,
    writes,
)
from webkiln.nest.target import ARITHMETIC, Target
from webkiln.ops.table import infer
from webkiln.plan import kernel as kernels
from webkiln.plan.algorithms import algorithm
from webkiln.plan.align import VECTOR
from webkiln.plan.cost import flops, moved
from webkiln.plan.float16_storage import float16_variables, narrow, narrow_steps
from webkiln.plan.kernel import Kernel
from webkiln.plan.linear import with_pixels
from webkiln.plan.memory import flat
from webkiln.plan.places import Arena, Buffer, Passing
from webkiln.plan.schedule import Choice, choose, plain
from webkiln.plan.storage import stored as stored_steps
from webkiln.plan.storage import stored_call
from webkiln.plan.texels import draw, in_quarters, packed
from webkiln.plan.textures import Textures
from webkiln.plan.tiles import tile
from webkiln.plan.tuning import UNTUNED, Decision, Tuning
from webkiln.weights.encoding import BY_NAME, Stored
from webkiln.weights.init import ELEMENTS, HEADER, Destination, decode_call, panelled_call
from webkiln.weights.shards import Piece, pieces, stored

SCHEMA = "webkiln.program/5"


@dataclass(frozen=True, slots=True)
class Planned:
    """The calls of a graph with the schedule of each; `filters` are done once, when weights have
    arrived; `texels` are the Variables that lie four elements to a texel, `quarters` those of them
    of which each quarter lies in a layer of its own, and the elements of a quarter; `float16` lie
    in memory as float16. `decided`: what was chosen among several ways, for each call.
    """

    lowered: Lowered
    choices: tuple[Choice, ...]
    destinations: dict[str, Destination]
    filters: tuple[NestCall, ...] = ()
    texels: frozenset[str] = frozenset()
    quarters: Mapping[str, int] = field(default_factory=dict)
    float16: frozenset[str] = frozenset()
    decided: tuple[tuple[Decision, ...], ...] = ()

    @property
    def scheduled(self) -> Iterator[tuple[Choice, tuple[Decision, ...]]]:
        """The schedule of each call, with what was decided for it."""
        return zip(self.choices, self.decided or ((),) * len(self.choices), strict=True)


def plan(
    graph: Graph,
    target: Target,
    keep: Sequence[str] = (),
    layout: Sequence[Piece] = (),
    tuning: Tuning = UNTUNED,
) -> Planned:
    """What the kernels of a backend are, and how each is run."""
    planned = _scheduled(graph, target, keep, layout, tuning)
    if not target.stores_float16:
        return planned
    lowered, packed = planned.lowered, not target.render_targets
    seen = {lowered.roots.get(name, name) for name in (*_seen_as_they_are(graph), *keep)}
    seen |= {
        *graph.inputs,
        *(state.input for state in graph.states),
        *(view.name for call in planned.filters for view in call.inputs),
    }
    made = {view.name for call in planned.filters for view in call.outputs}
    weights = {item.name for item in stored(graph) if item.dtype == "float32"} | made
    float16 = float16_variables(lowered.steps, planned.choices, weights, seen, packed=packed)
    return replace(
        planned,
        float16=float16,
        lowered=replace(lowered, steps=narrow_steps(lowered.steps, float16, packed=packed)),
    )


def _scheduled(
    graph: Graph, target: Target, keep: Sequence[str], layout: Sequence[Piece], tuning: Tuning
) -> Planned:
    """Lower, fuse and schedule; a weight is a panel where all its readers want the same one and
    nobody
    else sees it. `layout`: how weights arrive.
    """
    weights = {item.name for item in stored(graph)} - _seen_as_they_are(graph)
    filters: list[NestCall] = []
    decisions: dict[str, Decision] = {}

    def rewrite(call: NestCall) -> Sequence[Step] | None:
        found = algorithm(call, target, weights, tuning, len(filters))
        if found is None:
            return None
        decisions[found.decision.key] = found.decision
        if found.filter is not None:
            filters.append(stored_call(found.filter, target))
        return found.steps

    fused = lower(graph, keep, target, rewrite)
    lowered = replace(fused, steps=stored_steps(fused.steps, target))
    if target.render_targets:
        return _drawn(graph, target, lowered, layout)
    weights -= {
        view.name
        for step in flat(lowered.steps)
        if not isinstance(step, NestCall)
        for view in reads(step)
    }
    made = {view.name for call in filters for view in call.outputs}
    lowered = replace(lowered, steps=with_pixels(lowered.steps, target, weights | made))
    free = weights | made
    tiles = [tile(call, target, free, tuning) for call in lowered.calls]
    while True:
        choices = [
            choose(call, item.target, free) for call, item in zip(lowered.calls, tiles, strict=True)
        ]
        readers = [
            *zip(filters, (plain(call, "") for call in filters), strict=True),
            *zip(lowered.calls, choices, strict=True),
        ]
        destinations, clashing = _destinations(readers, weights | made)
        if not clashing:
            pairs = (
                (decisions.get(call.part_of), item.decision)
                for call, item in zip(lowered.calls, tiles, strict=True)
            )
            decided = tuple(tuple(item for item in pair if item is not None) for pair in pairs)
            return Planned(lowered, tuple(choices), destinations, tuple(filters), decided=decided)
        free = free - clashing


def _seen_as_they_are(graph: Graph) -> set[str]:
    """The Variables that others than kernels see."""
    return {
        *graph.outputs.values(),
        *(name for state in graph.states for name in (state.initial, state.output)),
    }


def _drawn(graph: Graph, target: Target, lowered: Lowered, layout: Sequence[Piece]) -> Planned:
    """Which Variables of a backend that draws lie four elements to a texel, and the schedules that
    follow from that.
    """
    decoding = [
        _decoding(piece, Destination(piece.weight.shape, None), target)[0] for piece in layout
    ]
    given = {
        name: Type(target.stored(variable.dtype), variable.shape)
        for name, variable in graph.variables.items()
    }
    pairs = [
        (state.input, name)
        for state in graph.states
        for name in (state.initial, lowered.roots[state.output])
    ]
    texels = packed([*decoding, *lowered.steps], given, pairs)
    quarters = in_quarters([*decoding, *lowered.steps], texels, pairs)
    return Planned(
        lowered,
        tuple(draw(call, texels, quarters) for call in lowered.calls),
        {},
        texels=texels,
        quarters=quarters,
    )


def _destinations(
    readers: Iterable[tuple[NestCall, Choice]], weights: Collection[str]
) -> tuple[dict[str, Destination], set[str]]:
    """How each weight should lie, and the weights of which one reader wants another panel than the
    next.
    """
    destinations: dict[str, Destination] = {}
    clashing: set[str] = set()
    for call, choice in readers:
        for position, view in enumerate(call.inputs):
            if view.name in weights:
                wanted = Destination(view.shape, choice.schedule.panel(position))
                if destinations.setdefault(view.name, wanted) != wanted and (
                    wanted.panel or destinations[view.name].panel
                ):
                    clashing.add(view.name)
    return destinations, clashing


def program(
    graph: Graph, target: Target, encoding: str, keep_layers: bool = False, tuning: Tuning = UNTUNED
) -> dict[str, Any]:
    """All that the code of one backend is written from (docs/formats.md)."""
    layers = layer_outputs(graph) if keep_layers else {}
    layout = pieces(stored(graph), encoding)
    planned = plan(graph, target, tuple(layers.values()), layout, tuning)
    return _Writer(graph, target, planned, layout, layers).write()


def layer_outputs(graph: Graph) -> dict[str, str]:
    """The last Variable that each layer computes and anything reads, in program order."""
    fixed = {node.name for node in graph.constant_subgraph()}
    uses = graph.uses()
    return {
        node.layer: next((name for name in reversed(node.outputs) if uses[name]), node.outputs[0])
        for node in graph.nodes
        if node.layer and node.name not in fixed
    }


def _decoding(
    piece: Piece, destination: Destination, target: Target
) -> tuple[NestCall, str | None]:
    """The call that decodes a piece of weights, and the 64-bit dtype of its elements where they are
    narrowed before.
    """
    raw = decode_call(piece, destination)
    elements = next(view.type.dtype for view in raw.inputs if view.name == ELEMENTS)
    narrow = target.stored(elements) != elements and itemsize(elements) == 8
    return stored_call(raw, target, {HEADER} if narrow else {HEADER, ELEMENTS}), (
        elements if narrow else None
    )


def places_of(target: Target) -> Arena | Textures:
    """What tells Variables their places on a backend."""
    return Textures() if target.render_targets else Arena(target.alignment)


def _data_dependent_bounds(steps: Iterable[Step]) -> dict[str, int]:
    """What each size that the steps find out is at most, in their order."""
    bounds: dict[str, int] = {}
    for step in steps:
        if isinstance(step, HostCall | WhileLoop) and step.result:
            bounds[step.result[0]] = symbols.substitute(step.result[1], bounds)
        for block in nested_blocks(step):
            bounds |= _data_dependent_bounds(block)
    return bounds


def shared(call: NestCall, schedule: Schedule) -> dict[str, Any]:
    """The turns of the loop that processors share, and the multiples in which they do."""
    found = [loop.extent for loop in call.nest.axes if loop.axis == schedule.split]
    return {"split": [size_to_json(call.args[found[0].value]), schedule.grain]} if found else {}


def divisibility_json(item: Divisibility) -> dict[str, Any]:
    made = {
        "name": item.name,
        "modulus": item.modulus,
        "remainders": list(item.remainders),
        "text": str(item),
        "layer": item.layers[0],
    }
    return made | ({"placeholder": item.quotient, "offset": item.offset} if item.quotient else {})


class _Writer:
    def __init__(
        self,
        graph: Graph,
        target: Target,
        planned: Planned,
        layout: Sequence[Piece],
        layers: dict[str, str],
    ) -> None:
        self.graph, self.target, self.planned, self.layout, self.layers = (
            graph,
            target,
            planned,
            layout,
            layers,
        )
        self.roots = planned.lowered.roots
        self.places = places_of(target)
        self.offsets = self.places.offsets
        self.kernels: dict[str, Kernel] = {}
        self.procedures: dict[str, Procedure] = {}
        self.texts: dict[str, CustomKernel] = {}
        self.data_dependent = _data_dependent_bounds(planned.lowered.steps)

    def buffer(self, name: str, type_: Type) -> Buffer:
        """The room for a Variable, as large as it may become."""
        lanes = VECTOR if name in self.planned.texels else 1
        quarter = self.planned.quarters.get(name)
        size = type_.size if quarter is None else VECTOR * quarter
        return Buffer(
            self.storage(name, type_.dtype),
            symbols.substitute(size, self.data_dependent),
            lanes,
            quarter is not None,
        )

    def storage(self, name: str, dtype: str) -> str:
        return "float16" if name in self.planned.float16 else self.target.stored(dtype)

    def narrow(self, call: NestCall) -> NestCall:
        """A call that is not one of the steps, over Variables as they lie in memory."""
        return narrow(call, self.planned.float16, packed=not self.target.render_targets)

    def reserve(self, name: str) -> None:
        self.places.reserve(name, self.buffer(name, self.graph.type(name)))

    def reserve_weight(self, weight: Stored) -> None:
        """Make room for a weight in the layout that its readers want."""
        buffer, destination = (
            self.buffer(weight.name, self.graph.type(weight.name)),
            self.planned.destinations.get(weight.name),
        )
        if destination is not None:
            view = View(weight.name, self.graph.type(weight.name)).reshaped(destination.shape)
            buffer = replace(buffer, elements=kernels.elements(view, destination.panel))
        self.places.reserve(weight.name, buffer)

    def reserve_panel(self, view: View) -> None:
        """Make room for what is computed of weights, in the layout that its reader wants."""
        self.places.reserve(
            view.name,
            Buffer(
                self.storage(view.name, view.type.dtype),
                kernels.elements(view, self.planned.destinations[view.name].panel),
            ),
        )

    def passing(self) -> list[Passing]:
        """The weights of which only something else is kept, that is computed when they have
        arrived; in the order in which they are done with.
        """
        last = {
            view.name: call.outputs[0].name for call in self.planned.filters for view in call.inputs
        }
        needed = {
            view.name for step in flat(self.planned.lowered.steps) for view in reads(step)
        } | _seen_as_they_are(self.graph)
        order = [call.outputs[0].name for call in self.planned.filters]
        found = [
            Passing(name, self.buffer(name, self.graph.type(name)), until)
            for name, until in last.items()
            if name not in needed
        ]
        return sorted(found, key=lambda item: order.index(item.last))

    def write(self) -> dict[str, Any]:
        graph, steps = self.graph, self.planned.lowered.steps
        for state in graph.states:
            self.reserve(state.input)
        passing = self.passing()
        not_kept = {item.name for item in passing}
        for weight in stored(graph):
            if weight.name not in not_kept:
                self.reserve_weight(weight)
        for call in self.planned.filters:
            self.reserve_panel(call.outputs[0])
        staging = max((piece.bytes for piece in self.layout), default=0)
        if staging > self.target.staging:
            raise InternalError(
                f"a weight has a row of {staging} bytes, staging holds {self.target.staging}"
            )
        self.places.stage(staging, passing)
        init = [
            *map(self.decode, self.layout),
            *(self.transform(call, self.pieces_of(call)) for call in self.planned.filters),
        ]
        for state in graph.states:
            self.reserve(self.roots[state.output])
        for name in graph.inputs:
            self.reserve(name)
        for name in sorted({self.roots[name] for name in graph.outputs.values()}):
            self.reserve(name)
        self.share(steps)
        choices = self.planned.scheduled
        main = [self.step(step, choices) for step in steps]
        multiplied = any(kernel.schedule.float16 for kernel in self.kernels.values())
        precision = ARITHMETIC if multiplied else "float16" if self.target.stores_float16 else None
        return {
            "schema": SCHEMA,
            "backend": self.target.backend,
            **({"precision": precision} if precision else {}),
            "name": graph.name,
            "placeholders": sorted(
                symbols.names(size for name in graph.inputs for size in graph.type(name).shape)
            ),
            "data_dependent": list(self.data_dependent),
            "divisibility": list(map(divisibility_json, graph.divisibility)),
            "guards": [
                self.guard(need)
                for need in needs(self.graph, infer)
                if not need.names & set(self.data_dependent)
            ],
            **self.places.described(),
            "inputs": [self.tensor(name, name) for name in graph.inputs],
            "outputs": [self.tensor(output, name) for output, name in graph.outputs.items()],
            "states": [
                {
                    "name": state.name,
                    "offset": self.offsets[state.input],
                    "initial": self.offsets[state.initial],
                    "next": self.offsets[self.roots[state.output]],
                    "bytes": self.buffer(state.input, self.graph.type(state.input)).bytes,
                }
                for state in graph.states
            ],
            "layers": [self.layer(layer, name) for layer, name in self.layers.items()],
            "init": init,
            "main": main,
            "kernels": {name: kernels.to_json(kernel) for name, kernel in self.kernels.items()},
            "procedures": {
                name: procedures.to_json(procedure) for name, procedure in self.procedures.items()
            },
            "custom_kernels": {
                name: custom_kernels.to_json(kernel) for name, kernel in self.texts.items()
            },
        }

    def share(self, steps: Sequence[Step]) -> None:
        """Find room for everything that only lives between launches."""
        written = [view for step in flat(steps) for view in writes(step)]
        buffers = {
            view.name: self.buffer(view.name, view.type)
            for view in written
            if view.name not in self.offsets
        }
        self.places.share(
            steps, buffers, {self.roots[name] for name in self.layers.values()} & set(buffers)
        )

    def guard(self, need: Need) -> dict[str, Any]:
        """A guard as it is computed, and as it is said to the user."""

        def sized(size: int) -> dict[str, Any]:
            return {
                "size": size_to_json(size),
                "text": dim.abbreviate(expand_quotients(size, self.graph.divisibility)),
            }

        equals = {} if need.equals is None else {"equals": sized(need.equals)}
        return {"layer": need.layer, **sized(need.size), **equals}

    def tensor(self, name: str, variable: str) -> dict[str, Any]:
        value = self.graph.variables[variable]
        order = str(value.order) if value.order is not None else None
        drawn = (
            {"distribution": distribution_json(value.distribution)}
            if value.distribution is not None
            else {}
        )
        told = [
            size_to_json(expand_quotients(size, self.graph.divisibility)) for size in value.shape
        ]
        return {
            "name": name,
            "dtype": value.dtype,
            "storage": self.target.stored(value.dtype),
            "shape": list(map(size_to_json, value.shape)),
            "order": order,
            **drawn,
            **({"said": told} if self.graph.divisibility else {}),
            "offset": size_to_json(self.offsets[self.roots[variable]]),
        }

    def layer(self, layer: str, variable: str) -> dict[str, Any]:
        value = self.graph.variables[variable]
        return {
            "layer": layer,
            "variable": variable,
            "dtype": value.dtype,
            "storage": self.target.stored(value.dtype),
            "shape": list(map(size_to_json, value.shape)),
            "offset": size_to_json(self.offsets[self.roots[variable]]),
        }

    def kernel(self, call: NestCall, choice: Choice) -> Kernel:
        made = Kernel(call.nest, choice.schedule)
        return self.kernels.setdefault(made.name, made)

    def step(
        self, step: Step, choices: Iterator[tuple[Choice, tuple[Decision, ...]]]
    ) -> dict[str, Any]:
        if isinstance(step, NestCall):
            return self.launch(step, *next(choices))
        if isinstance(step, Copy):
            source, target = (
                size_to_json(self.offsets[view.name]) for view in (step.source, step.target)
            )
            size = self.buffer(step.source.name, step.source.type).bytes
            return {"copy": size_to_json(size), "from": source, "to": target}
        if isinstance(step, HostCall):
            return self.host(step)
        if isinstance(step, CustomCall):
            return self.written(step)
        blocks = [[self.step(item, choices) for item in block] for block in nested_blocks(step)]
        if isinstance(step, Repeat):
            return {"repeat": step.counter, "count": size_to_json(step.count), "steps": blocks[0]}
        condition = self.offsets[step.condition.name]
        if isinstance(step, Branch):
            return {"if": size_to_json(condition), "then": blocks[0], "else": blocks[1]}
        bound = None if step.bound is None else size_to_json(step.bound)
        data_dependent = step.result[0] if step.result else None
        return {
            "loop": step.counter,
            "while": size_to_json(condition),
            "bound": bound,
            "result": data_dependent,
            "steps": blocks[0],
        }

    def written(self, step: CustomCall) -> dict[str, Any]:
        kernel = step.kernel
        self.texts.setdefault(kernel.name, kernel)
        views = (*step.inputs, *step.outputs)
        return {
            "kernel": kernel.name,
            "layer": step.layer,
            "operands": [size_to_json(self.offsets[view.name]) for view in views],
            "args": [size_to_json(step.args[name]) for name in kernel.arguments],
            "why": "written by a plugin",
            "flops": 0,
            "bytes": size_to_json(
                sum(view.type.size * itemsize(view.type.dtype) for view in views)
            ),
        }

    def host(self, step: HostCall) -> dict[str, Any]:
        self.procedures.setdefault(step.procedure.name, step.procedure)
        views = (*step.inputs, *step.outputs)
        return {
            "host": step.procedure.name,
            "layer": step.layer,
            "operands": [size_to_json(self.offsets[view.name]) for view in views],
            "elements": [
                size_to_json(
                    view.type.size
                    if view in step.inputs
                    else symbols.substitute(view.type.size, self.data_dependent)
                )
                for view in views
            ],
            "args": [size_to_json(step.args[name]) for name in step.procedure.arguments],
            "result": step.result[0] if step.result else None,
        }

    def launch(self, call: NestCall, choice: Choice, decided: Sequence[Decision]) -> dict[str, Any]:
        kernel = self.kernel(call, choice)
        views = (*call.inputs, *call.outputs)
        operands = [size_to_json(self.offsets[view.name]) for view in views]
        return {
            "kernel": kernel.name,
            "layer": call.layer,
            "operands": operands,
            "args": list(
                map(size_to_json, kernels.values(kernel, views, call.args, self.planned.quarters))
            ),
            "why": choice.why,
            "flops": size_to_json(flops(call)),
            "bytes": size_to_json(moved(call)),
            **({"decided": [item.to_json() for item in decided]} if decided else {}),
            **shared(call, choice.schedule),
        }

    def pieces_of(self, call: NestCall) -> list[int]:
        """The first of the entries that decode what a call reads of weights, and how many they are."""
        names = {view.name for view in call.inputs}
        found = [number for number, piece in enumerate(self.layout) if piece.weight.name in names]
        return [found[0], found[-1] + 1 - found[0]]

    def transform(self, call: NestCall, after: list[int]) -> dict[str, Any]:
        """The launch that computes what a fast convolution multiplies by, when its filter has
        arrived.
        """
        (view,) = call.outputs
        made = panelled_call(call, self.planned.destinations[view.name])
        choice, made = choose(made, self.target, ()), self.narrow(made)
        if view.name in self.planned.float16 and not choice.schedule.aligned:
            choice = plain(made, "stores float16 of words")
        kernel = self.kernel(made, choice)
        views = (*made.inputs, *made.outputs)
        return {
            "kernel": kernel.name,
            "shard": -1,
            "after": after,
            "operands": [self.offsets[item.name] for item in views],
            "args": kernels.values(kernel, views, made.args),
            **shared(made, kernel.schedule),
        }

    def decode(self, piece: Piece) -> dict[str, Any]:
        target = self.planned.destinations.get(piece.weight.name) or Destination(
            piece.weight.shape, None
        )
        call, narrow = _decoding(piece, target, self.target)
        choice = (
            draw(call, self.planned.texels)
            if self.target.render_targets
            else plain(call, "decodes weights")
        )
        call = self.narrow(call)
        kernel = self.kernel(call, choice)
        header = 4 * BY_NAME[piece.encoding].header(piece.weight)
        parts = {HEADER: (0, header), ELEMENTS: (header, piece.bytes - header)}
        staged = [self.places.staged(*parts[view.name], view.type.dtype) for view in call.inputs]
        views = (*call.inputs, *call.outputs)
        return {
            "kernel": kernel.name,
            "shard": piece.shard,
            "start": piece.offset,
            "bytes": piece.bytes,
            **({"narrow": narrow} if narrow else {}),
            "operands": [*staged, self.offsets[piece.weight.name]],
            "args": kernels.values(kernel, views, call.args),
        }

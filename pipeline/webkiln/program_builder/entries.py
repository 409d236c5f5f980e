"""The JSON entries of steps: launches, copies, host calls and control flow."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.notation import size_to_json
from webkiln.ir.types import Type, itemsize
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.nest import Nest
from webkiln.nest.procedure import Procedure
from webkiln.nest.program import PanelLayout, Program, TexelLayout
from webkiln.nest.schedule import LoopSchedule, Schedule, TemplateSchedule
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    DeviceBranch,
    HostCall,
    NestCall,
    Parallel,
    Repeat,
    Step,
    View,
    WhileLoop,
    Workgroups,
    calls,
)
from webkiln.nest.target import Target
from webkiln.plan import kernel as kernels
from webkiln.plan.cost import moved, operations
from webkiln.plan.float16_storage import HALVES, narrow
from webkiln.plan.group_kernel import GroupKernel
from webkiln.plan.kernel import Kernel
from webkiln.plan.panels import panelled_call
from webkiln.plan.parallel_kernel import ParallelKernel
from webkiln.plan.schedule import plain
from webkiln.plan.segments import bindings
from webkiln.plan.texels import draw
from webkiln.plan.textures import staged_texture
from webkiln.program_builder.group_entries import group_entry
from webkiln.program_builder.parallel_entries import parallel_entry
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.init import ELEMENTS, HEADER, copied_halves, decoding_call
from webkiln.weights.shards import Piece


def split_entry(call: NestCall, schedule: Schedule) -> dict[str, Any]:
    """The iterations of the loop that threads share, and the multiple in which they share it."""
    if not isinstance(schedule, LoopSchedule | TemplateSchedule) or not schedule.split:
        return {}
    names = schedule.split if isinstance(schedule, TemplateSchedule) else (schedule.split,)
    turns = prod(call.args[loop.extent.value] for loop in call.nest.axes if loop.axis in names)
    return {"split": [size_to_json(turns), schedule.grain]}


def bound_kernel(
    nest: Nest, schedule: Schedule, segments_of: Sequence[int | None]
) -> tuple[Kernel, dict[str, Any]]:
    """The kernel of a call with operands in these segments, and what its entry says."""
    places, segments = bindings(segments_of)
    kernel = Kernel(nest, schedule, places)
    return kernel, {"kernel": kernel.name, **({"segments": segments} if segments else {})}


class Entries:
    """Writes the entries of the steps of a planned program. Collects the kernels, procedures and
    custom kernels that they name, in order of first use.
    """

    def __init__(self, program: Program, target: Target, layout: Sequence[Piece]) -> None:
        self.program, self.target, self.layout = program, target, layout
        self.bounds = program.bounds
        self.kernels: dict[str, Kernel] = {}
        self.procedures: dict[str, Procedure] = {}
        self.custom_kernels: dict[str, CustomKernel] = {}
        self.group_kernels: dict[str, GroupKernel] = {}
        self.parallel_kernels: dict[str, ParallelKernel] = {}

    def init(self) -> list[dict[str, Any]]:
        """The entries that decode weights, and those that compute other constants of them."""
        entries = list(map(self._decode, self.layout))
        sources: dict[str, set[str]] = {}
        for call in self.program.init:
            names = set[str]().union(*(sources.get(v.name, {v.name}) for v in call.inputs))
            sources[call.outputs[0].name] = names
            entries.append(self._transform(call, self._pieces_of(names)))
        return entries

    def main(self) -> list[dict[str, Any]]:
        """The entries of all steps."""
        return list(map(self._step, self.program.steps))

    @property
    def all_kernels(self) -> Iterator[Kernel]:
        """The kernels of one nest, also those of parallel launches."""
        yield from self.kernels.values()
        yield from (item.kernel for item in self.parallel_kernels.values())

    def address(self, name: str) -> Size:
        """The address of a buffer. Raises InternalError if it has none."""
        address = self.program.buffers[name].address
        if address is None:
            raise InternalError(f"{self.program.name}: {name} has no address")
        return address

    def _addresses(self, views: Iterable[View]) -> list[Any]:
        return [size_to_json(self.address(view.name)) for view in views]

    def _segments(self, views: Iterable[View]) -> list[int | None]:
        return [self.program.buffers[view.name].segment for view in views]

    def _kernel(
        self, nest: Nest, schedule: Schedule, segments_of: Sequence[int | None]
    ) -> tuple[Kernel, dict[str, Any]]:
        """The kernel of a launch of its own, and what its entry says."""
        kernel, named = bound_kernel(nest, schedule, segments_of)
        return self.kernels.setdefault(kernel.name, kernel), named

    def _values(
        self, kernel: Kernel, views: Sequence[View], args: Mapping[str, Size]
    ) -> list[Size]:
        quarters = {
            view.name: layout.quarter
            for view in views
            if isinstance(layout := self.program.buffers[view.name].layout, TexelLayout)
            and layout.quarter is not None
        }
        return kernels.values(kernel, views, args, quarters)

    def _step(self, step: Step) -> dict[str, Any]:
        if isinstance(step, Workgroups):
            kernel, entry = group_entry(step, self._addresses, self._segments)
            self.group_kernels.setdefault(kernel.name, kernel)
            return entry
        if isinstance(step, Parallel):
            return self._parallel(calls(step.steps))
        blocks = [list(map(self._step, block)) for block in step.blocks]
        match step:
            case NestCall():
                return self._launch(step)
            case HostCall():
                return self._host_call(step)
            case CustomCall():
                return self._custom_call(step)
            case Copy(source, target):
                places = self._addresses((source, target))
                size = symbols.substitute(source.type.size, self.bounds)
                count = size * itemsize(self.program.buffers[source.name].storage)
                return {"copy": size_to_json(count), "from": places[0], "to": places[1]}
            case Repeat(counter, count):
                return {"repeat": counter, "count": size_to_json(count), "steps": blocks[0]}
            case Branch(condition):
                (place,) = self._addresses([condition])
                return {"if": place, "then": blocks[0], "else": blocks[1]}
            case DeviceBranch(least):
                return {"multiprocessors": least, "then": blocks[0], "else": blocks[1]}
            case WhileLoop(counter, condition, bound):
                return {
                    "loop": counter,
                    "while": self._addresses([condition])[0],
                    "bound": None if bound is None else size_to_json(bound),
                    "result": step.result[0] if step.result else None,
                    "steps": blocks[0],
                }
            case _:
                raise InternalError(f"{step.label}: there is no entry of program.json for it")

    def _custom_call(self, step: CustomCall) -> dict[str, Any]:
        kernel = step.kernel
        self.custom_kernels.setdefault(kernel.name, kernel)
        views = (*step.inputs, *step.outputs)
        return {
            "kernel": kernel.name,
            "layer": step.layer,
            "operands": self._addresses(views),
            "args": [size_to_json(step.args[name]) for name in kernel.arguments],
            "why": "written by a plugin",
            "passes": [],
            "flops": 0,
            "bytes": size_to_json(
                sum(view.type.size * itemsize(view.type.dtype) for view in views)
            ),
        }

    def _host_call(self, step: HostCall) -> dict[str, Any]:
        self.procedures.setdefault(step.procedure.name, step.procedure)
        views = (*step.inputs, *step.outputs)
        return {
            "host": step.procedure.name,
            "layer": step.layer,
            "operands": self._addresses(views),
            "elements": [
                size_to_json(
                    view.type.size
                    if view in step.inputs
                    else symbols.substitute(view.type.size, self.bounds)
                )
                for view in views
            ],
            "args": [size_to_json(step.args[name]) for name in step.procedure.arguments],
            "result": step.result[0] if step.result else None,
        }

    def _launch(self, call: NestCall) -> dict[str, Any]:
        kernel, entry = self._call(call)
        self.kernels.setdefault(kernel.name, kernel)
        return entry

    def _parallel(self, members: Iterable[NestCall]) -> dict[str, Any]:
        kernels_of, entries = zip(*map(self._call, members), strict=True)
        kernel, entry = parallel_entry(kernels_of[0], entries)
        self.parallel_kernels.setdefault(kernel.name, kernel)
        return entry

    def _call(self, call: NestCall) -> tuple[Kernel, dict[str, Any]]:
        """The kernel of a call, and the entry of its launch."""
        assert call.choice is not None
        views = (*call.inputs, *call.outputs)
        kernel, named = bound_kernel(call.nest, call.schedule, self._segments(views))
        decisions = (self.program.decided.get(call.part_of), call.choice.decision)
        decided = [item for item in decisions if item is not None]
        return kernel, {
            **named,
            "layer": call.layer,
            "operands": self._addresses(views),
            "args": list(map(size_to_json, self._values(kernel, views, call.args))),
            "why": call.choice.why,
            "passes": list(call.passes),
            "flops": size_to_json(operations(call)),
            "bytes": size_to_json(moved(call)),
            **({"scalar": True} if self._stays_scalar(call) else {}),
            **({"decided": decided} if decided else {}),
            **split_entry(call, call.schedule),
        }

    def _stays_scalar(self, call: NestCall) -> bool:
        """Whether a call computes one element at a time on a target that has vectors."""
        is_template = isinstance(call.schedule, TemplateSchedule)
        return (
            self.target.vectors.width > 1 and not is_template and call.schedule.tile.vector is None
        )

    def _pieces_of(self, names: Collection[str]) -> list[int]:
        """The position of the first entry that decodes one of these weights, and the number of
        entries up to the last one.
        """
        numbers = [number for number, piece in enumerate(self.layout) if piece.weight.name in names]
        return [numbers[0], numbers[-1] + 1 - numbers[0]] if numbers else [0, 0]

    def _transform(self, call: NestCall, after: list[int]) -> dict[str, Any]:
        """The launch that computes a constant of others once these have been decoded."""
        (view,) = call.outputs
        layout = self.program.buffers[view.name].layout
        stored = panelled_call(call, layout) if isinstance(layout, PanelLayout) else call
        views = (*stored.inputs, *stored.outputs)
        kernel, named = self._kernel(stored.nest, call.schedule, self._segments(views))
        return {
            **named,
            "shard": -1,
            "after": after,
            "operands": self._addresses(views),
            "args": self._values(kernel, views, stored.args),
            **split_entry(stored, kernel.schedule),
        }

    def _decode(self, piece: Piece) -> dict[str, Any]:
        name = piece.weight.name
        buffer = self.program.buffers[name]
        panel = buffer.layout if isinstance(buffer.layout, PanelLayout) else None
        call, narrow = decoding_call(piece, panel, self.target)
        texels = {name} if isinstance(buffer.layout, TexelLayout) else ()
        drawn = draw(call, texels) if self.target.draws else None
        call = self._stored_as(call, piece)
        choice = drawn or plain(call, self.target, "decodes weights")
        segments = [*(None for _ in call.inputs), buffer.segment]
        kernel, named = self._kernel(call.nest, choice.schedule, segments)
        header = 4 * BY_NAME[piece.encoding].header(piece.weight)
        parts = {HEADER: (0, header), ELEMENTS: (header, piece.bytes - header)}
        staged = [self._staged(*parts[view.name], view.type.dtype) for view in call.inputs]
        return {
            **named,
            "shard": piece.shard,
            "start": piece.offset,
            "bytes": piece.bytes,
            **({"narrow": narrow} if narrow else {}),
            "operands": [*staged, self.address(name)],
            "args": kernels.values(kernel, (*call.inputs, *call.outputs), call.args),
            **self._copied(piece, panel),
        }

    def _copied(self, piece: Piece, panel: PanelLayout | None) -> dict[str, Any]:
        """The launch that copies float16 elements on GPUs that have them instead of float32."""
        name = f"{piece.weight.name}{HALVES}"
        if name not in self.program.buffers:
            return {}
        call = copied_halves(piece, panel)
        if call is None:
            raise InternalError(f"{name} is read as float16, but does not arrive so")
        schedule = plain(call, self.target, "copies weights").schedule
        segment = self.program.buffers[name].segment
        kernel, named = self._kernel(call.nest, schedule, [None, segment])
        views = (*call.inputs, *call.outputs)
        launch = {
            **named,
            "operands": [self._staged(0, piece.bytes, "float16"), self.address(name)],
            "args": kernels.values(kernel, views, call.args),
        }
        return {"multiprocessors": self.target.least_gpu, "then": launch}

    def _stored_as(self, call: NestCall, piece: Piece) -> NestCall:
        """A call that decodes a weight, with an output of the storage of its buffer. float32
        narrowed to float16 is clamped; what a backend holds as float32 is not.
        """
        storage = self.program.buffers[piece.weight.name].storage
        (view,) = call.outputs
        if storage == "float16" != view.type.dtype:
            return narrow(call, {view.name: storage}, packed=not self.target.draws)

        def stored_view(other: View) -> View:
            return replace(other, type=Type(storage, other.shape)) if other is view else other

        return call.with_views(stored_view)

    def _staged(self, start: int, size: int, dtype: str) -> Any:
        """The operand of a launch that reads `size` bytes of encoded weights from `start`."""
        if self.target.draws:
            return staged_texture(start, size, dtype)
        assert self.program.memory is not None
        return self.program.memory["staging"]["offset"] + start

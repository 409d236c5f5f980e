"""The JSON entries of steps: launches, copies, host calls and control flow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webkiln.ir import symbols
from webkiln.ir.notation import size_to_json
from webkiln.ir.types import itemsize
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.procedure import Procedure
from webkiln.nest.schedule import LoopSchedule, Schedule, has_aligned_vectors
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    HostCall,
    NestCall,
    Repeat,
    Step,
    nested_blocks,
)
from webkiln.plan import kernel as kernels
from webkiln.plan.cost import flops, moved
from webkiln.plan.kernel import Kernel
from webkiln.plan.schedule import Choice, choose, plain
from webkiln.plan.texels import draw
from webkiln.program_builder.memory_map import MemoryMap
from webkiln.program_builder.planning import decoding_call
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.init import ELEMENTS, HEADER, Destination, panelled_call
from webkiln.weights.shards import Piece


def split_entry(call: NestCall, schedule: Schedule) -> dict[str, Any]:
    """The iterations of the loop that threads share, and the multiple in which they share it."""
    if not isinstance(schedule, LoopSchedule) or schedule.split is None:
        return {}
    (extent,) = (loop.extent for loop in call.nest.axes if loop.axis == schedule.split)
    return {"split": [size_to_json(call.args[extent.value]), schedule.grain]}


class Entries:
    """Writes the entries of steps over a memory map. Collects the kernels, procedures and custom
    kernels that they name, in order of first use.
    """

    def __init__(self, memory: MemoryMap, layout: Sequence[Piece]) -> None:
        self.memory, self.planned, self.target = memory, memory.planned, memory.target
        self.offsets, self.layout = memory.offsets, layout
        self.kernels: dict[str, Kernel] = {}
        self.procedures: dict[str, Procedure] = {}
        self.custom_kernels: dict[str, CustomKernel] = {}

    def init(self) -> list[dict[str, Any]]:
        """The entries that decode weights, and those that transform filters afterwards."""
        return [
            *map(self._decode, self.layout),
            *(self._transform(call, self._pieces_of(call)) for call in self.planned.filters),
        ]

    def main(self) -> list[dict[str, Any]]:
        """The entries of all steps."""
        choices = self.planned.scheduled
        return [self._step(step, choices) for step in self.planned.lowered.steps]

    def _kernel(self, call: NestCall, choice: Choice) -> Kernel:
        kernel = Kernel(call.nest, choice.schedule)
        return self.kernels.setdefault(kernel.name, kernel)

    def _step(
        self, step: Step, choices: Iterator[tuple[Choice, tuple[Mapping[str, Any], ...]]]
    ) -> dict[str, Any]:
        if isinstance(step, NestCall):
            return self._launch(step, *next(choices))
        if isinstance(step, Copy):
            source, target = (
                size_to_json(self.offsets[view.name]) for view in (step.source, step.target)
            )
            size = self.memory.buffer(step.source.name, step.source.type).bytes
            return {"copy": size_to_json(size), "from": source, "to": target}
        if isinstance(step, HostCall):
            return self._host_call(step)
        if isinstance(step, CustomCall):
            return self._custom_call(step)
        blocks = [[self._step(item, choices) for item in block] for block in nested_blocks(step)]
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

    def _custom_call(self, step: CustomCall) -> dict[str, Any]:
        kernel = step.kernel
        self.custom_kernels.setdefault(kernel.name, kernel)
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

    def _host_call(self, step: HostCall) -> dict[str, Any]:
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
                    else symbols.substitute(view.type.size, self.memory.data_dependent)
                )
                for view in views
            ],
            "args": [size_to_json(step.args[name]) for name in step.procedure.arguments],
            "result": step.result[0] if step.result else None,
        }

    def _launch(
        self, call: NestCall, choice: Choice, decided: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        kernel = self._kernel(call, choice)
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
            **({"decided": list(decided)} if decided else {}),
            **split_entry(call, choice.schedule),
        }

    def _pieces_of(self, call: NestCall) -> list[int]:
        """The position of the first entry that decodes weights for a call, and the number of such
        entries.
        """
        names = {view.name for view in call.inputs}
        numbers = [number for number, piece in enumerate(self.layout) if piece.weight.name in names]
        return [numbers[0], numbers[-1] + 1 - numbers[0]]

    def _transform(self, call: NestCall, after: list[int]) -> dict[str, Any]:
        """The launch that transforms the filter of a fast convolution once it has been decoded."""
        (view,) = call.outputs
        transform = panelled_call(call, self.planned.destinations[view.name])
        choice, transform = choose(transform, self.target, ()), self.memory.narrow(transform)
        if view.name in self.planned.float16 and not has_aligned_vectors(choice.schedule):
            choice = plain(transform, self.target, "stores float16 of words")
        kernel = self._kernel(transform, choice)
        views = (*transform.inputs, *transform.outputs)
        return {
            "kernel": kernel.name,
            "shard": -1,
            "after": after,
            "operands": [self.offsets[item.name] for item in views],
            "args": kernels.values(kernel, views, transform.args),
            **split_entry(transform, kernel.schedule),
        }

    def _decode(self, piece: Piece) -> dict[str, Any]:
        target = self.planned.destinations.get(piece.weight.name) or Destination(
            piece.weight.shape, None
        )
        call, narrow = decoding_call(piece, target, self.target)
        choice = (
            draw(call, self.planned.texels)
            if self.target.render_targets
            else plain(call, self.target, "decodes weights")
        )
        call = self.memory.narrow(call)
        kernel = self._kernel(call, choice)
        header = 4 * BY_NAME[piece.encoding].header(piece.weight)
        parts = {HEADER: (0, header), ELEMENTS: (header, piece.bytes - header)}
        staged = [
            self.memory.allocator.staged_operand(*parts[view.name], view.type.dtype)
            for view in call.inputs
        ]
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

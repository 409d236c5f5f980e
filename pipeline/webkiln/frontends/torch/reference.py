"""Reference outputs: what torch computes for made-up inputs, how noisy its float32 is, and what each node gives."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import Interpreter, Node

from webkiln.frontends.nodes.part import reference_of
from webkiln.frontends.nodes.sampled import SampledInputs
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.torch.program import decomposed, layer_values, output_names
from webkiln.frontends.torch.source import TracedProgram
from webkiln.ir.types import DTYPES, Array


def compute_reference(
    source: TracedProgram, part: NodeModel, name: str, inputs: SampledInputs
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz, of the model or a part of it."""
    run = _Runner(source, name, inputs.fixed)
    return reference_of(part, inputs, name, run)


class _Recorder(Interpreter):  # type: ignore[misc]
    """Runs a graph and keeps what its nodes give."""

    def __init__(self, module: torch.fx.GraphModule, names: Mapping[Node, str]) -> None:
        super().__init__(module)
        self.names = names
        self.found: dict[str, Array] = {}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        first = result[0] if isinstance(result, list | tuple) and result else result
        if n in self.names and isinstance(first, torch.Tensor) and str(first.dtype).removeprefix("torch.") in DTYPES:
            self.found[self.names[n]] = first.detach().numpy().copy()
        return result


class _Runner:
    """A program as a function of named inputs; every run begins with the states that it was saved with."""

    def __init__(self, source: TracedProgram, name: str, fixed: Mapping[str, Array]) -> None:
        self.program, self.called, self.fixed = decomposed(source.program), source.inputs, fixed
        self.labels = layer_values(self.program, name)
        self.outputs = output_names(self.program)

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        recorder = _Recorder(self.program.graph_module, self.labels)
        results = recorder.run(*self._arguments({**values, **self.fixed}), enable_io_processing=False)
        kept = [
            item
            for item, spec in zip(results, self.program.graph_signature.output_specs, strict=True)
            if spec.kind == OutputKind.USER_OUTPUT
        ]
        outputs = {name: _array(item) for name, item in zip(self.outputs, kept, strict=True) if item is not None}
        return outputs, recorder.found

    def _arguments(self, values: Mapping[str, Array]) -> list[Any]:
        state, constants = self.program.state_dict, self.program.constants
        found: list[Any] = []
        called = iter(self.called)
        for spec in self.program.graph_signature.input_specs:
            if spec.kind != InputKind.USER_INPUT:
                value = state[str(spec.target)] if spec.target in state else constants[str(spec.target)]
                found.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)
            elif isinstance(spec.arg, ConstantArgument):
                found.append(spec.arg.value)
            else:
                value = values[next(called, spec.arg.name)]
                found.append(torch.from_numpy(np.ascontiguousarray(value)).reshape(value.shape))
        return found


def _array(item: Any) -> Array:
    return item.detach().numpy() if isinstance(item, torch.Tensor) else np.asarray(item)

"""Reference outputs: computed by torch on random inputs, with their float32 noise and the outputs
of nodes.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree

from webkiln.errors import ToolError
from webkiln.frontends.nodes.noise import noise_name
from webkiln.frontends.nodes.sample_inputs import Noise, SampledInputs
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.nodes.subgraph import subgraph_reference, subgraph_run
from webkiln.frontends.torch.decompositions import decomposed
from webkiln.frontends.torch.labels import layer_values, output_names
from webkiln.frontends.torch.randomness import DRAWS, drawn_parameters
from webkiln.frontends.torch.source import TracedProgram, first_line
from webkiln.ir.types import DTYPES, Array, is_integer
from webkiln.random_inputs import NATURAL


def compute_reference(
    source: TracedProgram, part: NodeModel, name: str, inputs: SampledInputs
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz, for the model or a subgraph. Raises ToolError
    if torch only has the signature of an operator.
    """
    run = _Runner(source, name, inputs.fixed)
    try:
        inputs = inputs.with_noises(run.noises(inputs.natural()))
        sets = inputs.sets(name, subgraph_run(part, name, run))
    except NotImplementedError as error:
        advice = (
            "install its package (pip install torchvision), or record outputs where it is"
            " installed and pass them as reference"
        )
        raise ToolError(
            f"{name}: torch cannot run an operator of it ({first_line(error)}); {advice}"
        ) from None
    double = _in_float64(run, part, sets[NATURAL[0]])
    return subgraph_reference(part, inputs, sets, name, [run] if double is None else [run, double])


class _Recorder(Interpreter):  # type: ignore[misc]
    """Runs a graph and records the results of its nodes. `values` has their random numbers."""

    def __init__(self, runner: "_Runner", values: Mapping[str, Array]) -> None:
        super().__init__(runner.program.graph_module)
        self.names, self.labels = runner.names, runner.labels
        self.widened, self.values = runner.widened, values
        self.results: dict[str, Array] = {}
        self.noises: dict[str, Noise] = {}

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.widened:
            args, kwargs = pytree.tree_map(_widened, (args, kwargs))
        return super().call_function(target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.target in DRAWS and n in self.names:
            result = self.drawn(n, result)
        first = result[0] if isinstance(result, list | tuple) and result else result
        if (
            n in self.labels
            and isinstance(first, torch.Tensor)
            and str(first.dtype).removeprefix("torch.") in DTYPES
        ):
            self.results[self.labels[n]] = first.detach().numpy().copy()
        return result

    def drawn(self, node: Node, result: torch.Tensor) -> torch.Tensor:
        """The random numbers of a node: those of the inputs, if they have them."""
        name, distribution = noise_name(self.names[node]), DRAWS[node.target]
        dtype = str(result.dtype).removeprefix("torch.")
        if distribution == "randint":
            dtype = dtype if is_integer(dtype) else "int64"
        else:
            dtype = dtype if dtype == "float64" and not self.widened else "float32"
        parameters = drawn_parameters(node.target, node.args)
        self.noises[name] = Noise(dtype, tuple(result.shape), distribution, parameters)
        if name not in self.values:
            return result
        return torch.from_numpy(np.array(self.values[name])).reshape(result.shape).to(result.dtype)


class _Runner:
    """A program as a function of named inputs. Every run starts with its saved states. `widened`:
    it computes in float64.
    """

    def __init__(self, source: TracedProgram, name: str, fixed: Mapping[str, Array]) -> None:
        self.program, self.called, self.fixed = decomposed(source.program), source.inputs, fixed
        self.widened = False
        self.names = layer_values(self.program, name)
        self.labels = self.names
        self.outputs = output_names(self.program)

    def noises(self, values: Mapping[str, Array]) -> dict[str, Noise]:
        """The random numbers that the program draws, by the names of their inputs."""
        return self._run(values)[0].noises

    def _run(self, values: Mapping[str, Array]) -> tuple[_Recorder, Any]:
        recorder = _Recorder(self, values)
        arguments = self._arguments({**values, **self.fixed})
        return recorder, recorder.run(*arguments, enable_io_processing=False)

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        recorder, results = self._run(values)
        user_outputs = [
            item
            for item, spec in zip(results, self.program.graph_signature.output_specs, strict=True)
            if spec.kind == OutputKind.USER_OUTPUT
        ]
        outputs = {
            name: _array(item)
            for name, item in zip(self.outputs, user_outputs, strict=True)
            if item is not None
        }
        return outputs, recorder.results

    def _arguments(self, values: Mapping[str, Array]) -> list[Any]:
        state, constants = self.program.state_dict, self.program.constants
        inputs: list[Any] = []
        called = iter(self.called)
        for spec in self.program.graph_signature.input_specs:
            if spec.kind != InputKind.USER_INPUT:
                value = (
                    state[str(spec.target)] if spec.target in state else constants[str(spec.target)]
                )
                inputs.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)
            elif isinstance(spec.arg, ConstantArgument):
                inputs.append(spec.arg.value)
            else:
                value = values[next(called, spec.arg.name)]
                inputs.append(torch.from_numpy(np.ascontiguousarray(value)).reshape(value.shape))
        return inputs


def _in_float64(run: _Runner, part: NodeModel, values: Mapping[str, Array]) -> _Runner | None:
    """The program in float64, which records the results of a subgraph; None if torch cannot compute
    it for sample values.
    """
    double, labels = copy(run), {item.name for item in part.graph.outputs}
    double.widened, double.labels = (
        True,
        {node: label for node, label in run.labels.items() if label in labels},
    )
    try:
        double(values)
    except Exception:  # noqa: BLE001 - operators refuse float64 in as many ways as there are operators
        return None
    return double


def _widened(item: Any) -> Any:
    if isinstance(item, torch.Tensor) and item.dtype == torch.float32:
        return item.double()
    return torch.float64 if item is torch.float32 else item


def _array(item: Any) -> Array:
    return item.detach().numpy() if isinstance(item, torch.Tensor) else np.asarray(item)

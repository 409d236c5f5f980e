"""Reference outputs: computed by ai-edge-litert's interpreter with its reference kernels, on random
inputs.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import SourceError, missing_framework
from webkiln.frontends.core.arrays import two_parts
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.nodes.subgraph import subgraph_reference, subgraph_run
from webkiln.frontends.tflite.file import TfliteFile
from webkiln.frontends.tflite.load import layer_tensors
from webkiln.frontends.tflite.signatures import input_names, select_graph
from webkiln.ir.types import Array
from webkiln.random_inputs import NATURAL, Inputs, make_inputs


def compute_reference(
    path: Path, part: NodeModel, inputs: SampledInputs, signature: str = ""
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz, for the model or a subgraph of it."""
    run = Interpreted(path, signature, inputs.fixed)
    sets = inputs.sets(
        path.name,
        subgraph_run(part, path.name, run),
        lambda table, scale: quantized_inputs(table, run.ranges, scale),
    )
    return subgraph_reference(part, inputs, sets, path.name, [run])


WRONG = frozenset({("LOCAL_RESPONSE_NORMALIZATION", "float32"), ("SUM", "int8"), ("SUM", "int16")})
"""Operators, by the dtypes of their first operands, whose reference kernels are incorrect: one
omits the last neighbour, the other reads its operand as uint8.
"""


def quantized_inputs(
    table: Inputs, ranges: Mapping[str, tuple[int, int]], scale: float
) -> dict[str, dict[str, Array]]:
    """For quantized inputs, waves over their full range."""
    sets = make_inputs(
        {
            name: ("float32" if name in ranges else dtype, shape)
            for name, (dtype, shape) in table.items()
        },
        scale,
    )
    for kind, values in sets.items():
        for name, (low, high) in ranges.items():
            real = values[name].astype(np.float64)
            quantized = low + np.rint(real / scale * (high - low)) if kind in NATURAL else real
            values[name] = np.clip(quantized, low, high).astype(table[name][0])
    return sets


class Interpreted:
    """A graph of a file as a function of named inputs. Every run starts with the states of the
    file.
    """

    def __init__(
        self, path: Path, signature: str = "", fixed: Mapping[str, Array] | None = None
    ) -> None:
        try:
            from ai_edge_litert.interpreter import Interpreter, OpResolverType
        except ImportError:
            raise missing_framework("LiteRT", "ai_edge_litert") from None
        file = TfliteFile(path)
        index, _ = select_graph(file, signature)
        if index:
            raise SourceError(
                f"{path.name}: the interpreter runs only the main graph; there is no reference"
                f" for {signature}"
            )
        tensors = file.tensors(0)
        self.name, self.fixed = path.name, fixed or {}
        self.inputs, self.outputs = input_names(file, signature)
        items = [tensors[number] for number in file.ends(0, "inputs")]
        limits = {
            name: np.iinfo(item.dtype)
            for name, item in zip(self.inputs, items, strict=True)
            if item.is_quantized
        }
        self.ranges = {
            name: (int(limits_.min), int(limits_.max))
            for name, limits_ in limits.items()
            if name not in self.fixed
        }
        wrong = any(
            (operator.op, tensors[operator.inputs[0]].stored) in WRONG
            for operator in file.operators(0)
            if operator.inputs
        )
        self.kinds = [OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
        self.kinds = self.kinds[1:] if wrong else self.kinds
        self.kind, self.path = Interpreter, str(path)
        self.layers = layer_tensors(path)

    def _interpreter(self) -> Any:
        """Use reference kernels, or optimised ones if an operator has no reference kernel."""
        try:
            return self.kind(
                model_path=self.path,
                num_threads=1,
                experimental_op_resolver_type=self.kinds[0],
                experimental_preserve_all_tensors=True,
            )
        except (ValueError, RuntimeError) as error:
            if "Didn't find" not in str(error) or len(self.kinds) == 1:
                raise
            self.kinds = self.kinds[1:]
            return self._interpreter()

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        try:
            return self._computed({**values, **self.fixed})
        except (ValueError, RuntimeError) as error:
            raise SourceError(f"{self.name}: LiteRT cannot run the model: {error}") from error

    def _computed(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        interpreter = self._interpreter()
        own = interpreter.get_input_details()
        for item, name in zip(own, self.inputs, strict=True):
            if item["dtype"] == np.complex64:
                values = {**values, name: _complex(values[name])}
            if tuple(item["shape"]) != values[name].shape:
                interpreter.resize_tensor_input(item["index"], list(values[name].shape))
        interpreter.allocate_tensors()
        for item, name in zip(own, self.inputs, strict=True):
            interpreter.set_tensor(item["index"], values[name])
        interpreter.invoke()
        outputs = [
            two_parts(np.array(interpreter.get_tensor(item["index"])))
            for item in interpreter.get_output_details()
        ]
        return dict(zip(self.outputs, outputs, strict=True)), self._inside(interpreter)

    def _inside(self, interpreter: Any) -> dict[str, Array]:
        """The output of each node, if the interpreter preserved it."""
        inside: dict[str, Array] = {}
        for label, index in self.layers.items():
            with suppress(ValueError):
                inside[label] = two_parts(np.array(interpreter.get_tensor(index)))
        return inside


def _complex(values: Array) -> Array:
    """The complex numbers in float32[..., 2]."""
    return np.ascontiguousarray(values, np.float32).view(np.complex64)[..., 0]

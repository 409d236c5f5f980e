"""Reference outputs: what onnxruntime computes for made-up inputs, how noisy its float32 is, and what each node gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from webkiln.errors import SourceError, ToolError
from webkiln.frontends.onnx.load import layer_tensors
from webkiln.frontends.onnx.tensors import load_external
from webkiln.inputs import Inputs, difference, make_inputs, moved, natural_sets
from webkiln.ir.types import Array


def compute_reference(path: Path, table: Inputs, folder: Path | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of reference.npz and of layers.npz. Noise is the difference to inputs that are moved by one unit in the last place, and
    to onnxruntime's own optimised form of the model."""
    run, optimised = _Runner(path, folder), _Runner(path, folder, optimised=True)
    reference: dict[str, Array] = {}
    layers: dict[str, Array] = {}
    sets = natural_sets(lambda scale: make_inputs(table, scale), lambda values: run(values)[0], path.name)
    for name, values in sets.items():
        outputs, inside = run(values)
        reference |= {f"{name}/in/{key}": value for key, value in values.items()}
        reference |= {f"{name}/out/{key}": value for key, value in outputs.items()}
        layers |= {f"{name}/{key}": value for key, value in inside.items()}
        others = [run({key: moved(value, way) for key, value in values.items()})[0] for way in (-np.inf, np.inf)]
        others.append(optimised(values)[0])
        for key, value in outputs.items():
            reference[f"{name}/noise/{key}"] = np.array(max(difference(value, other[key]) for other in others))
    return reference, layers


class _Runner:
    """A model as a function of named inputs, that also gives the first output of every node."""

    def __init__(self, path: Path, folder: Path | None, *, optimised: bool = False) -> None:
        try:
            import onnxruntime as ort
        except ImportError:
            raise ToolError("reference outputs are what onnxruntime computes; install it: pip install onnxruntime") from None

        model = onnx.load_model(path, load_external_data=False)
        if folder is not None:
            load_external(model, folder, path.name)
        self.outputs = [item.name for item in model.graph.output]
        self.layers: dict[str, str] = {} if optimised else layer_tensors(model, path.name)
        for name in sorted(set(self.layers.values()) - set(self.outputs)):
            model.graph.output.append(onnx.ValueInfoProto(name=name))
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        level = ort.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
        try:
            self.session: Any = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise SourceError(f"{path.name}: onnxruntime cannot load it: {error}") from error

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        names = [item.name for item in self.session.get_outputs()]
        results = dict(zip(names, self.session.run(names, dict(values)), strict=True))
        inside = {label: results[name] for label, name in self.layers.items() if isinstance(results[name], np.ndarray)}
        return {name: results[name] for name in self.outputs}, inside

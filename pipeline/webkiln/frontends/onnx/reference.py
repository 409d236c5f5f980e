"""Reference outputs: what onnxruntime computes for made-up inputs, how noisy its float32 is, and
what each node gives.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from webkiln.errors import SourceError, no_reference
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.onnx.check import nodes_of
from webkiln.frontends.onnx.load import layer_tensors, part_of
from webkiln.frontends.onnx.tensors import load_external
from webkiln.inputs import reference_arrays
from webkiln.ir.types import Array


def compute_reference(
    path: Path,
    inputs: SampledInputs,
    folder: Path | None = None,
    cut: Subgraph = ENTIRE_MODEL,
    texts: Sequence[str] = (),
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of reference.npz and of layers.npz; for `texts` stand their places. Noise includes
    the difference to onnxruntime's own optimised form of the model.
    """
    run, optimised = (
        _Runner(path, folder, inputs.fixed, cut, texts, optimised=optimised)
        for optimised in (False, True)
    )
    return reference_arrays(inputs.sets(path.name, run), run, [optimised])


class _Runner:
    """A model as a function of named inputs, that also gives the first output of every node."""

    def __init__(
        self,
        path: Path,
        folder: Path | None,
        fixed: Mapping[str, Array],
        cut: Subgraph,
        texts: Sequence[str],
        *,
        optimised: bool,
    ) -> None:
        try:
            import onnxruntime as ort
        except ImportError:
            raise no_reference("onnxruntime", "onnxruntime") from None

        model = part_of(onnx.load_model(path, load_external_data=False), cut, path.name)
        if folder is not None:
            load_external(model, folder, path.name)
        self.fixed, self.places = fixed, {text: place for place, text in enumerate(texts)}
        self.outputs = [item.name for item in model.graph.output]
        self.layers: dict[str, str] = {} if optimised else layer_tensors(model, path.name)
        for name in sorted(set(self.layers.values()) - set(self.outputs)):
            model.graph.output.append(onnx.ValueInfoProto(name=name))
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        level = ort.GraphOptimizationLevel
        options.graph_optimization_level = (
            level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
        )
        self.session: Any = _load(
            lambda data: ort.InferenceSession(data, options, providers=["CPUExecutionProvider"]),
            model,
            path.name,
        )

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        names = [item.name for item in self.session.get_outputs()]
        results = {
            name: self.placed(found)
            for name, found in zip(
                names, self.session.run(names, {**values, **self.fixed}), strict=True
            )
        }
        inside = {
            label: results[name]
            for label, name in self.layers.items()
            if isinstance(results[name], np.ndarray)
        }
        return {name: results[name] for name in self.outputs}, inside

    def placed(self, found: Any) -> Any:
        """An output, texts as their places among the names of the classes."""
        if not isinstance(found, np.ndarray) or found.dtype != object:
            return found
        return np.array([self.places[text] for text in found.ravel()], np.int64).reshape(
            found.shape
        )


def _load(start: Callable[[bytes], Any], model: onnx.ModelProto, name: str) -> Any:
    """A session of a model; of a copy of an older version, where onnxruntime does not know its own
    yet and the operators are the same.
    """
    while True:
        try:
            return start(model.SerializeToString())
        except Exception as error:
            if not (_lower_format(model, str(error)) or _lower_opset(model, str(error), name)):
                raise SourceError(f"{name}: onnxruntime cannot load it: {error}") from error


def _lower_format(model: onnx.ModelProto, told: str) -> bool:
    found = re.search(r"max supported IR version: (\d+)", told)
    if not found or model.ir_version <= int(found[1]):
        return False
    model.ir_version = int(found[1])
    return True


def _lower_opset(model: onnx.ModelProto, told: str, name: str) -> bool:
    """SourceError where an operator is another one in the newest opset that onnxruntime says it
    knows.
    """
    found = re.search(r"domain ai\.onnx is till opset (\d+)", told)
    imported = [
        item
        for part in (model, *model.functions)
        for item in part.opset_import
        if item.domain in ("", "ai.onnx")
    ]
    if not found or all(entry.version <= int(found[1]) for entry in imported):
        return False
    newest = int(found[1])
    used = sorted(
        {
            node.op_type
            for part in (model.graph, *model.functions)
            for node in nodes_of(part)
            if node.domain in ("", "ai.onnx")
        }
    )
    for entry in imported:
        others = [
            op
            for op in used
            if onnx.defs.has(op, entry.version, "")
            and onnx.defs.get_schema(op, entry.version, "").since_version > newest
        ]
        if others:
            what = (
                f"onnxruntime knows opsets up to {newest}, and {', '.join(others)} changed in"
                f" {newest + 1} or later"
            )
            raise SourceError(
                f"{name}: there is no reference to verify with: {what}; export the model with opset"
                f" {newest}"
            )
        entry.version = min(entry.version, newest)
    return True

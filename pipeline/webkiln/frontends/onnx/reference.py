"""Reference outputs: what onnxruntime computes for random inputs, the noise of its float32, and the
outputs of all nodes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import helper

from webkiln.errors import SourceError, missing_framework
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.onnx.graphs import node_label, nodes_of
from webkiln.frontends.onnx.load import extract_part, layer_tensors
from webkiln.frontends.onnx.tensors import load_external
from webkiln.ir.types import Array
from webkiln.random_inputs import reference_arrays

DRAWS = (
    "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial",
    "Bernoulli",
)  # fmt: skip


def compute_reference(
    path: Path,
    inputs: SampledInputs,
    folder: Path | None = None,
    cut: Subgraph = ENTIRE_MODEL,
    texts: Sequence[str] = (),
    keys: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of reference.npz and of layers.npz. `texts` maps string outputs to indices, `keys`
    has the keys of outputs that are lists of dictionaries. Noise includes the difference between
    the optimised and the unoptimised model.
    """
    run, optimised = (
        _Runner(path, folder, inputs.fixed, cut, texts, keys, optimised=optimised)
        for optimised in (False, True)
    )
    return reference_arrays(inputs.sets(path.name, run), run, [optimised])


PORTABLE_LOCALE = b"C.UTF-8"


class _Runner:
    """A model as a function of named inputs that also returns the first output of every node."""

    def __init__(
        self,
        path: Path,
        folder: Path | None,
        fixed: Mapping[str, Array],
        cut: Subgraph,
        texts: Sequence[str],
        keys: Mapping[str, Sequence[str]],
        *,
        optimised: bool,
    ) -> None:
        try:
            import onnxruntime as ort
        except ImportError:
            raise missing_framework("onnxruntime", "onnxruntime") from None

        model = extract_part(
            onnx.load_model(path, load_external_data=False), cut, path.name, folder or path.parent
        )
        if folder is not None:
            load_external(model, folder, path.name)
        self.fixed, self.keys = fixed, keys
        if drawn := [node_label(node) for node in nodes_of(model.graph) if node.op_type in DRAWS]:
            raise SourceError(
                f"{path.name}: there is no reference to verify with: onnxruntime draws the random"
                f" numbers of {', '.join(drawn)}, which are inputs of the bundle"
            )
        self.indices = {text: index for index, text in enumerate(texts)}
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
            name: self._encode(name, output)
            for name, output in zip(
                names, self.session.run(names, {**values, **self.fixed}), strict=True
            )
        }
        layers = {
            label: results[name]
            for label, name in self.layers.items()
            if isinstance(results[name], np.ndarray)
        }
        return self._arrays(results), layers

    def _arrays(self, results: Mapping[str, Any]) -> dict[str, Array]:
        """The outputs of the model. The elements of a sequence are `name.0`, `name.1`."""
        arrays: dict[str, Array] = {}
        for name in self.outputs:
            if isinstance(results[name], list):
                arrays |= {f"{name}.{step}": item for step, item in enumerate(results[name])}
            else:
                arrays[name] = results[name]
        return arrays

    def _encode(self, name: str, output: Any) -> Any:
        """An output; strings as indices of class names, dictionaries as rows. Other strings, which
        only exist before the program, are lists.
        """
        if name in self.keys:
            rows = [{str(key): value for key, value in row.items()} for row in output]
            return np.array([[row[key] for key in self.keys[name]] for row in rows], np.float32)
        if not isinstance(output, np.ndarray) or output.dtype != object:
            return output
        if not self.indices.keys() >= set(output.flat):
            return output.tolist()
        return np.array([self.indices[text] for text in output.ravel()], np.int64).reshape(
            output.shape
        )


def _load(start: Callable[[bytes], Any], model: onnx.ModelProto, name: str) -> Any:
    """Start a session. If onnxruntime does not support the model's IR version or opset yet, lower
    it, provided that the operators are unchanged. If the machine lacks a locale, use another one.
    """
    while True:
        try:
            return start(model.SerializeToString())
        except Exception as error:
            if not (
                _lower_format(model, str(error))
                or _set_locale(model, str(error))
                or _lower_opset(model, str(error), name)
            ):
                raise SourceError(f"{name}: onnxruntime cannot load it: {error}") from error


def _set_locale(model: onnx.ModelProto, message: str) -> bool:
    """Use a locale that every system has, with the same letters, if this one lacks the model's."""
    nodes = [node for node in nodes_of(model.graph) if node.op_type == "StringNormalizer"]
    if "construct locale" not in message or not nodes:
        return False
    changed = False
    for node in nodes:
        if [item.s for item in node.attribute if item.name == "locale"] != [PORTABLE_LOCALE]:
            kept = [item for item in node.attribute if item.name != "locale"]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute("locale", PORTABLE_LOCALE)])
            changed = True
    return changed


def _lower_format(model: onnx.ModelProto, message: str) -> bool:
    match = re.search(r"max supported IR version: (\d+)", message)
    if not match or model.ir_version <= int(match[1]):
        return False
    model.ir_version = int(match[1])
    return True


def _lower_opset(model: onnx.ModelProto, message: str, name: str) -> bool:
    """Lower the opset to the newest one that onnxruntime supports. Raise SourceError if an operator
    of the model has changed since.
    """
    match = re.search(r"domain ai\.onnx is till opset (\d+)", message)
    imported = [
        item
        for part in (model, *model.functions)
        for item in part.opset_import
        if item.domain in ("", "ai.onnx")
    ]
    if not match or all(entry.version <= int(match[1]) for entry in imported):
        return False
    newest = int(match[1])
    used = sorted(
        {
            node.op_type
            for part in (model.graph, *model.functions)
            for node in nodes_of(part)
            if node.domain in ("", "ai.onnx")
        }
    )
    for entry in imported:
        changed = [
            op
            for op in used
            if onnx.defs.has(op, entry.version, "")
            and onnx.defs.get_schema(op, entry.version, "").since_version > newest
        ]
        if changed:
            problem = (
                f"onnxruntime supports opsets up to {newest}, and {', '.join(changed)} changed in"
                f" {newest + 1} or later"
            )
            raise SourceError(
                f"{name}: there is no reference to verify with: {problem}; export the model with"
                f" opset {newest}"
            )
        entry.version = min(entry.version, newest)
    return True

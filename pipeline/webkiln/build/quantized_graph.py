"""The actions that optimise and quantise the graph of a model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webkiln.backends import compilers
from webkiln.build.action import Action, Input, Local, Product
from webkiln.build.source_graph import SourceGraph, once
from webkiln.build.tools import tool_of
from webkiln.errors import ToolError
from webkiln.recipe.quantization import UserFunction
from webkiln.recipe.recipe import Computation
from webkiln.recipe.values import BLOCK_ENCODINGS, MAX_ERROR, MIXED, STATIC

SIMULATION = "simulation"
"""In place of an encoding: the graph that can round the activations of products."""
CHOSEN = (MIXED, STATIC)
"""The encodings that measurements choose for each layer."""


class QuantizedGraph(SourceGraph, ABC):
    """The actions of one recipe from its graph to a graph in an encoding."""

    @abstractmethod
    def bundle_for_measurement(self, encoding: str, *, layers: bool) -> Action:
        """A bundle that Node runs, which also returns the outputs of layers if asked to."""

    @property
    def measuring_backend(self) -> str:
        """The backend on which errors and ranges are measured."""
        try:
            compilers.choose()
        except ToolError:
            return "js"
        return "wasm"

    def computation(self, encoding: str) -> Computation:
        """How backends compute in an encoding. One that errors choose is computed as it was
        measured: with exact products, unless the recipe names others.
        """
        found = self.recipe.computation
        measured = encoding in (SIMULATION, *CHOSEN)
        return replace(found, products="exact") if measured and found.products == "auto" else found

    def is_quantized(self, encoding: str) -> bool:
        """Whether an encoding has a graph of its own, which decodes weights."""
        layers = self.recipe.bundle.quantization.layers
        special = encoding in (SIMULATION, *CHOSEN, *BLOCK_ENCODINGS)
        return special or (bool(layers) and encoding != "float32")

    def plain_encoding(self, encoding: str) -> str:
        """How weights of the graph in an encoding are stored."""
        return "float32" if self.is_quantized(encoding) else encoding

    def optimize(self) -> Input:
        """The graph after the last pass."""
        return self._optimized("")

    @once
    def _optimized(self, encoding: str) -> Input:
        """The graph of an encoding after the last pass, or that of the model. Each pass is a
        separate action, whose key contains the code of that pass.
        """
        last = self._quantized(encoding, "graph.json") if encoding else self.structure()
        for name in self._passes:
            code = (self._share.package / "passes" / f"{name}.py", *self.recipe.user_code.operators)
            inputs = {"graph.json": last, **self._operators.inputs}
            detail = f":{name}:{encoding}" if encoding else f":{name}"
            action = self._add(
                "optimize", detail, inputs, ("graph.json",), {"pass": name}, code=code
            )
            last = Product(action, "graph.json")
        return last

    def graph(self, encoding: str) -> Input:
        """The graph to lower. One with integer products is optimised again."""
        if not self.is_quantized(encoding):
            return self.optimize()
        return (
            self._optimized(encoding)
            if encoding == STATIC
            else self._quantized(encoding, "graph.json")
        )

    @once
    def graph_weights(self, encoding: str) -> Mapping[str, Input]:
        """The weights of that graph."""
        if not self.is_quantized(encoding):
            return self.weights()
        inputs: dict[str, Input] = {
            "graph.json": self.optimize(),
            "slots.json": self._quantized(encoding, "slots.json"),
            **self._operators.inputs,
            **self.weights(),
        }
        if encoding == STATIC or self._corrects(encoding):
            inputs["calibration.json"] = self.calibration()
        outputs = ("weights.json", "weights/")
        code = self.recipe.user_code.operators
        action = self._add("encode", f":{encoding}", inputs, outputs, {}, code=code)
        return {role: Product(action, role) for role in outputs}

    def _corrects(self, encoding: str) -> bool:
        """Whether an encoding adds what rounding weights changes in the mean."""
        settings = self.recipe.bundle.quantization
        measured = encoding in CHOSEN or settings.calibration is not None
        return settings.bias_correction and measured and encoding != SIMULATION

    def _quantized(self, encoding: str, role: str) -> Input:
        return Product(self._quantize(encoding), role)

    @once
    def _quantize(self, encoding: str) -> Action:
        layers = dict(self.recipe.bundle.quantization.layers)
        inputs = {"graph.json": self.optimize(), **self._operators.inputs}
        params: dict[str, Any] = {}
        if encoding in CHOSEN:
            inputs["choice.json"] = Product(self.choose(encoding), "choice.json")
            params = {"corrects": self._corrects(encoding)}
        elif encoding != SIMULATION:
            params = {
                "encoding": encoding,
                "layers": layers,
                "corrects": self._corrects(encoding),
            }
        outputs = ("graph.json", "slots.json")
        code = self.recipe.user_code.operators
        return self._add("quantize", f":{encoding}", inputs, outputs, params, code=code)

    @once
    def samples(self) -> Input:
        """The inputs by which ranges and errors are measured: those of verification, if the recipe
        has none.
        """
        source = self.recipe.bundle.quantization.calibration
        if source is None:
            return Product(self.reference(), "reference.npz")
        inputs = {"graph.json": self.structure(), **self.text_encodings()}
        if isinstance(source, UserFunction):
            inputs["script.py"] = Local(source.file)
            where = f"{source.file.name}:{source.function}"
            params = {"source": where, "function": source.function}
        else:
            inputs["samples.npz"] = Local(source)
            params = {"source": source.name}
        code = (source.file,) if isinstance(source, UserFunction) else ()
        action = self._add("samples", "", inputs, ("samples.npz",), params, code=code, timeout=1800)
        return Product(action, "samples.npz")

    @once
    def calibration(self) -> Input:
        """The ranges and means of activations."""
        inputs: dict[str, Input] = {
            "bundle/": Product(self.bundle_for_measurement(SIMULATION, layers=True), "bundle/"),
            "slots.json": self._quantized(SIMULATION, "slots.json"),
            "samples.npz": self.samples(),
        }
        params = {
            "backend": self.measuring_backend,
            "ranges": self.recipe.bundle.quantization.ranges,
        }
        outputs = ("calibration.json",)
        tools = (tool_of("node"),)
        action = self._add("calibrate", "", inputs, outputs, params, tools=tools, timeout=7200)
        return Product(action, "calibration.json")

    @once
    def choose(self, encoding: str) -> Action:
        """The encoding of each weight, by measured errors."""
        settings = self.recipe.bundle.quantization
        inputs: dict[str, Input] = {
            "bundle/": Product(self.bundle_for_measurement(SIMULATION, layers=False), "bundle/"),
            "graph.json": self.optimize(),
            "simulation.json": self._quantized(SIMULATION, "graph.json"),
            "slots.json": self._quantized(SIMULATION, "slots.json"),
            "samples.npz": self.samples(),
            "calibration.json": self.calibration(),
            **self._operators.inputs,
            **self.graph_weights(SIMULATION),
        }
        params: dict[str, Any] = {
            "backend": self.measuring_backend,
            "encoding": encoding,
            "layers": dict(settings.layers),
            "corrects": self._corrects(encoding),
            "max_error": settings.max_error or MAX_ERROR[encoding],
        }
        code = [*self.recipe.user_code.operators]
        if settings.metric is not None:
            inputs["metric.py"] = Local(settings.metric.file)
            params["metric"] = settings.metric.function
            code.append(settings.metric.file)
        return self._add(
            "choose",
            f":{encoding}",
            inputs,
            ("choice.json", "errors.json", "expected.npz"),
            params,
            code=tuple(code),
            tools=(tool_of("node"),),
            timeout=7200,
        )

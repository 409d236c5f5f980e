"""The actions that optimise and quantise the graph of a model."""

from collections.abc import Mapping
from typing import Any

from webkiln.build.action import Input, Product
from webkiln.build.source_graph import SourceGraph, once
from webkiln.recipe.values import BLOCK_ENCODINGS


class QuantizedGraph(SourceGraph):
    """The actions of one recipe from its graph to a graph in an encoding."""

    def is_quantized(self, encoding: str) -> bool:
        """Whether an encoding has a graph of its own, which decodes weights."""
        layers = self.recipe.bundle.quantization.layers
        return encoding in BLOCK_ENCODINGS or (bool(layers) and encoding != "float32")

    def plain_encoding(self, encoding: str) -> str:
        """How weights of the graph in an encoding are stored."""
        return "float32" if self.is_quantized(encoding) else encoding

    @once
    def optimize(self) -> Input:
        """The graph after the last pass. Each pass is a separate action, whose key contains the
        code of that pass.
        """
        last = self.structure()
        for name in self._passes:
            code = (self._share.package / "passes" / f"{name}.py", *self.recipe.user_code.operators)
            inputs = {"graph.json": last, **self._operators.inputs}
            action = self._add(
                "optimize", f":{name}", inputs, ("graph.json",), {"pass": name}, code=code
            )
            last = Product(action, "graph.json")
        return last

    def graph(self, encoding: str) -> Input:
        """The graph to lower."""
        return self._quantize(encoding) if self.is_quantized(encoding) else self.optimize()

    def graph_weights(self, encoding: str) -> Mapping[str, Input]:
        """The weights of that graph."""
        return self._encode(encoding) if self.is_quantized(encoding) else self.weights()

    @once
    def _quantize(self, encoding: str) -> Input:
        params: dict[str, Any] = {
            "encoding": encoding,
            "layers": dict(self.recipe.bundle.quantization.layers),
        }
        inputs = {"graph.json": self.optimize(), **self._operators.inputs}
        action = self._add(
            "quantize",
            f":{encoding}",
            inputs,
            ("graph.json", "slots.json"),
            params,
            code=self.recipe.user_code.operators,
        )
        return Product(action, "graph.json")

    @once
    def _encode(self, encoding: str) -> Mapping[str, Input]:
        quantized = self._quantize(encoding)
        assert isinstance(quantized, Product)
        inputs: dict[str, Input] = {
            "graph.json": self.optimize(),
            "slots.json": Product(quantized.action, "slots.json"),
            **self._operators.inputs,
            **self.weights(),
        }
        action = self._add(
            "encode",
            f":{encoding}",
            inputs,
            ("weights.json", "weights/"),
            {},
            code=self.recipe.user_code.operators,
        )
        return {
            "weights.json": Product(action, "weights.json"),
            "weights/": Product(action, "weights/"),
        }

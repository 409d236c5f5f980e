"""The weights with which a simulation computes what an encoding would."""

from collections.abc import Mapping

import numpy as np

from webkiln.errors import SourceError
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.table import evaluate
from webkiln.quantize.activations import Site
from webkiln.quantize.blocks import ENCODINGS
from webkiln.quantize.encode import Calibration, Slots, correction, range_values, rounded
from webkiln.quantize.weights import FLOAT16, FLOAT32, STATIC, Encoded, Weight, weights_of


class Simulation:
    """The simulation of the encodings of a graph. `simulated`: the graph that does it, with its
    slots. `constants`: the values of the weights by name.
    """

    def __init__(
        self,
        graph: Graph,
        simulated: Graph,
        slots: Slots,
        constants: Mapping[str, Array],
        calibration: Calibration,
        *,
        corrects: bool,
    ) -> None:
        self._graph, self._constants = graph, constants
        self._calibration, self._corrects = calibration, corrects
        self._weights = weights_of(graph)
        self._products = slots.corrections
        own = simulated.slots - graph.slots
        self._derived = [
            node for node in simulated.constant_subgraph() if own.issuperset(node.inputs)
        ]

    def rounded(self, weight: Weight, encoding: str) -> Array:
        """The values of a weight in an encoding. Raise SourceError if it cannot store them."""
        exact = self._constants[weight.name].reshape(weight.shape)
        if encoding == FLOAT16:
            with np.errstate(over="ignore"):
                halves = exact.astype(FLOAT16)
            if not np.isfinite(halves).all():
                raise SourceError(f"weight {weight.name} of {weight.layer} exceeds float16")
            return halves.astype(FLOAT32)
        form = ENCODINGS["int8" if encoding == STATIC else encoding]
        return rounded(Encoded(weight, form), exact)

    def square_error(self, weight: Weight, encoding: str) -> float:
        """The sum of the squares of what an encoding changes."""
        if encoding == FLOAT32:
            return 0.0
        exact = self._constants[weight.name].reshape(weight.shape)
        return float(np.square(self.rounded(weight, encoding) - exact).sum(dtype=np.float64))

    def values(self, choice: Mapping[str, str]) -> dict[str, Array]:
        """The constants that differ with a choice of encodings."""
        found: dict[str, Array] = {}
        for name, encoding in choice.items():
            if encoding == FLOAT32:
                continue
            weight = self._weights[name]
            found[name] = self.rounded(weight, encoding)
            for product in self._products:
                if product.weight != name:
                    continue
                if self._corrects and encoding != FLOAT16:
                    change = self._constants[name].reshape(weight.shape) - found[name]
                    found[product.correction] = correction(
                        self._graph, product, change, self._calibration
                    )
                if encoding == STATIC:
                    site = Site(product.site)
                    found |= range_values(site, *self._calibration.sites[product.site])
                    found[site.switch] = np.ones((), np.bool_)
        for node in self._derived:
            if found.keys() >= set(node.inputs):
                results = evaluate(node, [found[name] for name in node.inputs])
                found |= zip(node.outputs, results, strict=True)
        return found

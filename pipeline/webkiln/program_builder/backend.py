"""What a backend is: a value that compiles graphs.

Its folder `backends/<name>/` has two modules. `backend.py` defines `BACKEND`, which makes the
document program.json of a graph. `printer.py` defines `write(program, templates, folder)`, which
makes source files of the document; it is a module of its own because a change of one must not rerun
the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.nest.program import PanelLayout
from webkiln.nest.target import Target
from webkiln.plan.tuning import UNTUNED, Tuning
from webkiln.weights.init import copied_halves
from webkiln.weights.shards import Piece, pieces, stored


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a compilation: the encoding of the weights, whether the output of every layer
    stays readable, tuned choices, and the options of the recipe. `products`: how weights of
    4 and 8 bits are multiplied, `exact`, `dot` or `auto`; `caches`: the dtype of caches of keys and
    values (docs/quantisation.md); `matrices`: whether large products have variants by subgroup
    matrices.
    """

    encoding: str = "float32"
    keep_layers: bool = False
    tuning: Tuning = UNTUNED
    winograd: bool = True
    precision: str = "float32"
    rounds_float16: bool = False
    products: str = "exact"
    caches: str = "float32"
    matrices: bool = False


class Backend(Protocol):
    """What the build knows of a backend."""

    @property
    def name(self) -> str: ...

    def compile(self, graph: Graph, options: Options) -> dict[str, Any]:
        """The document program.json for a graph. It has the keys `schema`, `backend`, `inputs`,
        `outputs` and `states` of docs/formats.md; all others belong to the backend.
        """


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that a browser decodes: their types, in the order of first use, and the pieces in
    which they arrive.
    """

    types: Mapping[str, Type]
    pieces: Sequence[Piece]

    @property
    def staging(self) -> int:
        """The bytes of the largest piece."""
        return max((piece.bytes for piece in self.pieces), default=0)

    def arrives_in_halves(self, name: str, layout: PanelLayout | None) -> bool:
        """Whether a weight arrives as float16, and can be copied to a layout two elements to a
        word.
        """
        own = [piece for piece in self.pieces if piece.weight.name == name]
        return bool(own) and all(copied_halves(piece, layout) is not None for piece in own)


def weights_of(graph: Graph, encoding: str = "float32") -> Weights:
    needed = stored(graph)
    return Weights({item.name: graph.type(item.name) for item in needed}, pieces(needed, encoding))


@dataclass(frozen=True, slots=True)
class Settings:
    """What the passes of a loop backend depend on, beside the program."""

    target: Target
    tuning: Tuning = UNTUNED
    weights: Weights = Weights({}, ())

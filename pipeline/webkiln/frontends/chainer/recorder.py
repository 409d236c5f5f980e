"""Record a chain's computation as nodes. Each node is converted at once, so that shapes are those
of the graph.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.chainer.converter import DOMAIN, OPSETS, ChainerConverter
from webkiln.frontends.chainer.parts import KnownType, RecordedModel, call_names
from webkiln.frontends.chainer.sizes import OpenSize, bare, is_open
from webkiln.frontends.core.arrays import Blobs, Literal, Weight
from webkiln.frontends.nodes.call import GraphValue
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights, literal
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeSpec
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.symbols import placeholder, size_name
from webkiln.ir.types import DTYPES, Array, Type
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES


@runtime_checkable
class Recorded(Protocol):
    """The values that have a tensor in a recording."""

    def tensor_in(self, recorder: "ChainRecorder") -> str:
        """The tensor in a recording; "" if it belongs to another recording or to none."""


Returned = TypeVar("Returned")


class ChainRecorder(ChainerConverter):
    """The recorded nodes. `owners` maps the identities of parameters and persistent arrays to
    paths.
    """

    def __init__(self, owners: Mapping[int, str] | None = None) -> None:
        super().__init__()
        self.builder = GraphBuilder("recording", RULES)
        self._opsets = OPSETS
        self.owners = dict(owners or {})
        self.nodes: list[NodeSpec] = []
        self.tensors: dict[str, Weight | Literal] = {}
        self.values: dict[str, GraphValue] = {}
        self.inputs: list[Declared] = []
        self.scopes: list[tuple[str, bool]] = []
        self.links: dict[int, str] = {}
        self.calls: dict[str, str] = {}
        """The first tensor that each call of a link or function returned, by name."""
        self._stems: dict[str, str] = {}
        self._weights = StoredWeights()
        self._labels = DistinctNames()
        self._arrays: dict[int, tuple[str, Any]] = {}
        self._count = 0

    @property
    def blobs(self) -> Blobs:
        return self._weights.blobs

    @property
    def arrays_read(self) -> list[tuple[str, Any]]:
        """The tensors of parameters and other arrays, each with the object that owns it."""
        return list(self._arrays.values())

    def input(self, name: str, dtype: str, shape: Sequence[int | str]) -> str:
        """The tensor of a new input. Sizes that are names are dynamic."""
        tensor = self._fresh()
        self.inputs.append(Declared(name, tensor, dtype, tuple(shape)))
        sizes = tuple(
            placeholder(size_name(size)) if isinstance(size, str) else size for size in shape
        )
        self.values[tensor] = self._input(self.inputs[-1], sizes, None)
        return tensor

    def array(self, array: Array, value: Any = None, name: str | None = None) -> str:
        """The tensor of an array. Parameters, persistent values and large arrays become slots;
        others are part of the structure.
        """
        owner = array if value is None else value
        if id(owner) in self._arrays:
            return self._arrays[id(owner)][0]
        if str(array.dtype) not in DTYPES:
            raise SourceError(f"an array is of {array.dtype}; webkiln has {', '.join(DTYPES)}")
        tensor, path = self._fresh(), self.owners.get(id(owner), name)
        if path is not None or array.size > INLINE_ELEMENTS:
            self.tensors[tensor] = self._weights.store(path or "constant", array)
        else:
            self.tensors[tensor] = literal(array)
        self.values[tensor] = self._initialiser(self.tensors[tensor])
        self._arrays[id(owner)] = (tensor, owner)
        return tensor

    def record(
        self, op: str, operands: Sequence[str], attrs: Mapping[str, Any], count: int, domain: str
    ) -> list[str]:
        outputs = [self._fresh() for _ in range(count)]
        node = NodeSpec(self._label(), op, domain, tuple(operands), tuple(outputs), dict(attrs))
        values = [self.values[name] if name else None for name in operands]
        results = self._convert_node(self.builder, node, values, {})
        if len(results) < count:
            raise ShapeError(f"{node.name} ({op}): has {len(results)} results, expected {count}")
        self.nodes.append(node)
        self.values |= dict(zip(outputs, results, strict=False))
        return outputs

    def _fresh(self) -> str:
        self._count += 1
        return f"t{self._count - 1}"

    def _stem(self) -> str:
        """The path of the innermost link, and the name of the current function, if there is one."""
        links = [name for name, is_link in self.scopes if is_link and name]
        function = self.scopes[-1][0] if self.scopes and not self.scopes[-1][1] else ""
        return "/".join(filter(None, [links[-1] if links else "", function])) or "model"

    def _label(self) -> str:
        stem = self._stem()
        label = self._labels.distinct(stem)
        self._stems[label] = stem
        return label

    @contextmanager
    def inside(self, name: str, *, is_link: bool) -> Iterator[Callable[[Returned], Returned]]:
        """Record a call, whose results get new identities."""
        self.scopes.append((name, is_link))
        stem, start = self._stem(), len(self.nodes)

        def finish(result: Returned) -> Returned:
            if name and len(self.nodes) > start:
                self._called(stem, self.nodes[start].name, result)
            return result

        try:
            yield finish
        finally:
            self.scopes.pop()

    def _called(self, stem: str, label: str, result: Any) -> None:
        """Name a call like its first node, or, for the first call of a link, by the link's path."""
        while isinstance(result, list | tuple) and result:
            result = result[0]
        tensor = result.tensor_in(self) if isinstance(result, Recorded) else ""
        name = label if self._stems[label] == stem else stem
        if tensor and name not in self.calls:
            self.calls[name] = tensor

    def type(self, tensor: str) -> Type:
        return self.values[tensor].type

    def model(self, name: str, outputs: Mapping[str, str]) -> RecordedModel:
        declared = tuple(
            Declared(called, tensor, self.type(tensor).dtype, None)
            for called, tensor in outputs.items()
        )
        graph = GraphSpec(tuple(self.inputs), declared, self.tensors, tuple(self.nodes))
        types = {
            tensor: self._known(self.type(tensor))
            for node in self.nodes
            for tensor in node.outputs
            if tensor in self.values
        }
        return RecordedModel(
            name, OPSETS, graph, types=types, names=call_names(self.nodes, self.calls)
        )

    def _known(self, type_: Type) -> KnownType:
        """A type whose dynamic sizes are those of the inputs, or unnamed."""
        parameters = {
            size_name(size): size
            for item in self.inputs
            for size in item.shape or ()
            if isinstance(size, str)
        }
        return type_.dtype, tuple(
            parameters.get(str(size)) if is_symbolic(size) else size for size in type_.shape
        )


class _Active:
    """The current recording. Outside of one, computations (for example, to infer the shapes of lazy
    parameters) are discarded.
    """

    def __init__(self) -> None:
        self.recorder: ChainRecorder | None = None
        self.scratch: ChainRecorder | None = None

    def current(self) -> ChainRecorder:
        if self.recorder is not None:
            return self.recorder
        if self.scratch is None:
            self.scratch = ChainRecorder()
        return self.scratch


ACTIVE = _Active()


@contextmanager
def recording(recorder: ChainRecorder) -> Iterator[ChainRecorder]:
    before, ACTIVE.recorder = ACTIVE.recorder, recorder
    try:
        yield recorder
    finally:
        ACTIVE.recorder = before


@contextmanager
def nothing_recorded() -> Iterator[None]:
    """Reset; no recording is active."""
    before = ACTIVE.recorder, ACTIVE.scratch
    ACTIVE.recorder = ACTIVE.scratch = None
    try:
        yield
    finally:
        ACTIVE.recorder, ACTIVE.scratch = before


def size_operand(recorder: ChainRecorder, sizes: Sequence[Any]) -> str:
    """A list of sizes as a tensor."""
    if not any(map(is_open, sizes)):
        return recorder.array(np.array([bare(size) for size in sizes], np.int64))
    text = tuple(str(size.dim) if isinstance(size, OpenSize) else bare(size) for size in sizes)
    return recorder.record("Sizes", [], {"sizes": text}, 1, DOMAIN)[0]


def attribute(value: Any) -> Any:
    """An attribute in the form of specs."""
    if isinstance(value, OpenSize):
        raise ShapeError(
            f"the computation depends on the value of the open size {value}; set it in input_shapes"
        )
    if isinstance(value, list | tuple):
        return tuple(map(attribute, value))
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def shape_of(type_: Type) -> tuple[Any, ...]:
    return tuple(OpenSize(size) if is_symbolic(size) else size for size in type_.shape)

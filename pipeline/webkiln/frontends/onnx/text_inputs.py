"""Inputs of strings. Strings are normalised and split in JavaScript, before the model; the program
reads the indices of words in a vocabulary, which has the words that the model knows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import TensorProto, helper

from webkiln.errors import Item
from webkiln.frontends.nodes.sizes import ANONYMOUS
from webkiln.frontends.onnx.attributes import raw_attributes
from webkiln.frontends.onnx.graphs import nested_graphs, node_label, nodes_of
from webkiln.frontends.onnx.sort import sorted_nodes
from webkiln.frontends.onnx.text_rows import KEEPS_ORDER, NodeList, arrange_rows
from webkiln.frontends.onnx.text_steps import step_of
from webkiln.frontends.onnx.vocabulary_readers import (
    OF_STRINGS,
    PREPARE,
    READERS,
    REPLACED_BY,
    UnsupportedText,
    Vocabulary,
)

ENDING = "_length"
"""The suffix of the placeholder for the number of tokens of an input."""
STEPS = ("StringNormalizer", "Tokenizer")
MOVES = {
    **dict.fromkeys((*KEEPS_ORDER, "ArrayFeatureExtractor", "Gather", "Slice", "Transpose"), 1),
    "Concat": None,
}
"""Operators that move or select strings, and the number of operands with strings; None for all."""
TextEntry = dict[str, Any]
"""How strings become the indices of an input: `TextInput` of the runtime, with `tensor`, the name
of the input of indices, `tokens`, its vocabulary, and `axes`, the number of axes that indices and
strings share.
"""


@dataclass(frozen=True)
class TextModel:
    """A model with indices in place of strings, how strings become indices, and what is
    unsupported.
    """

    model: onnx.ModelProto
    entries: Sequence[TextEntry] = ()
    unsupported: Sequence[Item] = ()


def with_indices(model: onnx.ModelProto, where: str) -> TextModel:
    """Replace the inputs of strings of a model without functions."""
    constants = {item.name for item in model.graph.initializer}
    strings = {
        item.name
        for item in model.graph.input
        if item.type.tensor_type.elem_type == TensorProto.STRING and item.name not in constants
    }
    if not strings:
        return TextModel(model)
    rewriting = _Rewriting(model.graph, strings, where)
    rewriting.run()
    if rewriting.unsupported:
        return TextModel(model, (), rewriting.unsupported)
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:], result.graph.input[:]
    result.graph.node.extend(rewriting.made.nodes)
    result.graph.input.extend(rewriting.inputs)
    result.graph.initializer.extend(rewriting.made.constants)
    return TextModel(result, [root.entry() for root in rewriting.roots])


@dataclass
class _Root:
    """Strings whose indices the program reads: an input after some steps. `kept` are the axes of
    the strings that the indices have. `pad` fills rows of tokens.
    """

    tensor: str
    input: str
    shape: Sequence[int | str]
    kept: Sequence[int | str]
    words: Vocabulary
    steps: Sequence[Mapping[str, Any]] = ()
    pad: str | None = None
    is_list: bool = False
    only_counted: bool = True

    @property
    def length(self) -> str | None:
        """The name of the number of tokens, if runs decide it."""
        return f"{self.tensor}{ENDING}" if self.is_list or self.pad is not None else None

    def entry(self) -> TextEntry:
        unknown = len(self.words.numbers)
        return {
            "tensor": self.tensor,
            "input": self.input,
            "axes": len(self.kept),
            "shape": list(self.shape),
            "list": self.is_list,
            "standardize": None,
            "split": None,
            "ngrams": None,
            "steps": list(self.steps),
            "tokens": list(self.words.numbers),
            "first": 0,
            "other": unknown,
            "others": 1,
            "hashed": False,
            "salt": None,
            "mask": None,
            "masked": 0,
            "length": self.length,
            "fill": unknown if self.pad is None else self.words.numbers.get(self.pad, unknown),
            "empty": unknown if self.only_counted else None,
        }


@dataclass
class _Rewriting:
    """The nodes and inputs of a graph with indices. `texts` are the tensors of strings that come
    from inputs, `needed` those of which the program reads indices.
    """

    graph: onnx.GraphProto
    strings: set[str]
    where: str
    made: NodeList = field(default_factory=NodeList)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    roots: list[_Root] = field(default_factory=list)
    unsupported: list[Item] = field(default_factory=list)

    def run(self) -> None:
        self.sorted = sorted_nodes(self.graph, set(), self.where)
        self.producers = {name: node for node in self.sorted for name in node.output}
        self.texts = {*self.strings}
        for node in self.sorted:
            is_moved = node.op_type in STEPS or node.op_type in MOVES
            if is_moved and self.texts.intersection(_moved(node)):
                self.texts |= {*node.output}
        self.needed = self._find_needed()
        if self.unsupported:
            return
        self.words = self._share_words()
        for item in self.graph.input:
            if item.name not in self.strings:
                self.inputs.append(item)
            elif item.name in self.needed:
                self._add_root(item.name, item.name)
        for node in self.sorted:
            try:
                self._rewrite(node)
            except UnsupportedText as error:
                self._refuse(node, *error.args)

    def _find_needed(self) -> set[str]:
        """The tensors of strings whose indices the program reads. Refuse all other uses."""
        needed: set[str] = set()
        for item in self.graph.output:
            if item.name in self.texts:
                problem = "is an output of strings that come from an input"
                self.unsupported.append(
                    (item.name, problem, "Read them where the input is set, and remove the output")
                )
        for node in reversed(self.sorted):
            read = self.texts.intersection(node.input)
            nested = {
                name for graph in nested_graphs(node) for inner in nodes_of(graph)
                for name in inner.input
            }  # fmt: skip
            if self.texts & nested:
                self._refuse(node, "reads strings in a nested graph", PREPARE)
            elif not read or node.op_type in STEPS:
                continue
            elif node.op_type not in MOVES and node.op_type not in READERS:
                self._refuse(node, "computes with strings", PREPARE)
            elif node.op_type in READERS or needed.intersection(node.output):
                needed |= read
        return needed

    def _share_words(self) -> dict[str, Vocabulary]:
        """The vocabulary of each tensor: the same for the operands and outputs of moving nodes."""
        words = {name: Vocabulary() for name in self.needed}
        for node in self.sorted:
            if node.op_type not in MOVES or not self.needed.intersection(node.output):
                continue
            joined = [name for name in (*_moved(node), *node.output) if name in words]
            olds = [words[name] for name in joined]
            words |= {name: olds[0] for name, item in words.items() if item in olds}
        return words

    def _rewrite(self, node: onnx.NodeProto) -> None:
        if not self.texts.intersection(node.input):
            self.made.nodes.append(node)
        elif node.op_type in STEPS:
            if node.output[0] in self.needed:
                self._tokenize(node)
        elif node.op_type in READERS:
            self._look_up(node)
        elif self.needed.intersection(node.output):
            self.made.nodes.append(node)

    def _look_up(self, node: onnx.NodeProto) -> None:
        """An operator that looks up words reads indices."""
        words = self.words[node.input[0]]
        raw = raw_attributes(node, None, f"{self.where}: {node_label(node)}")
        attributes = READERS[node.op_type](raw, words)
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.op_type = REPLACED_BY.get(node.op_type, node.op_type)
        kept = [item for item in node.attribute if item.name not in (*OF_STRINGS, *attributes)]
        del copy.attribute[:]
        copy.attribute.extend(kept)
        copy.attribute.extend(helper.make_attribute(*item) for item in attributes.items())
        self.made.nodes.append(copy)
        for root in self.roots:
            if root.words is words and node.op_type != "TfIdfVectorizer":
                root.only_counted = False

    def _tokenize(self, node: onnx.NodeProto) -> None:
        """The output of a step, from indices of its tokens."""
        path, name = self._path(node)
        moves = [item for item in path if item.op_type in MOVES]
        steps = [self._step(item) for item in path if item.op_type in STEPS]
        if node.op_type == "Tokenizer":
            pad = raw_attributes(node, None, self.where).get("pad_value", "")
            root = self._add_root(node.output[0], name, steps, pad=pad)
            arrange_rows(self.made, root.tensor, moves, node.output[0])
        elif steps[-1]["stopwords"]:
            if moves and [item.op_type for item in moves] != ["Reshape"]:
                raise UnsupportedText(f"removes words of {name} that were rearranged", PREPARE)
            root = self._add_root(node.output[0], name, steps, is_list=True, is_flat=bool(moves))
            self.made.add("Identity", [root.tensor], node.output[0])
        else:
            root = self._add_root(node.output[0], name, steps)
            self.made.add("Identity", [self.made.applied(moves, root.tensor)], node.output[0])

    def _path(self, node: onnx.NodeProto) -> tuple[list[onnx.NodeProto], str]:
        """The nodes from an input to a step, and the input's name."""
        path = [node]
        while (name := path[0].input[0]) not in self.strings:
            before = self.producers[name]
            if before.op_type == "Tokenizer" or MOVES.get(before.op_type, 1) is None:
                raise UnsupportedText(f"reads strings of {node_label(before)}", PREPARE)
            path.insert(0, before)
        return path, name

    def _step(self, node: onnx.NodeProto) -> Mapping[str, Any]:
        return step_of(
            node.op_type, raw_attributes(node, None, f"{self.where}: {node_label(node)}")
        )

    def _add_root(
        self, text: str, name: str, steps: Sequence[Mapping[str, Any]] = (), *,
        pad: str | None = None, is_list: bool = False, is_flat: bool = False,
    ) -> _Root:  # fmt: skip
        """An input of indices for the tensor `text` of strings, which come from the input `name`. A
        list of words has one axis, or a first one of size 1.
        """
        shape = _shape(next(item for item in self.graph.input if item.name == name))
        if shape is None:
            raise UnsupportedText(
                f"reads the input {name}, whose shape the file does not declare",
                "Declare it in the export, for example as [None, 1]",
            )
        taken = {item.name for item in (*self.inputs, *self.graph.input)} | {*self.producers}
        tensor, number = name, 1
        while tensor in taken - {name} or any(root.tensor == tensor for root in self.roots):
            number += 1
            tensor = f"{name}_{number}"
        kept = shape if not is_list else [] if is_flat else [1] * (len(shape) - 1)
        root = _Root(tensor, name, shape, kept, self.words[text], steps, pad, is_list)
        self.roots.append(root)
        sizes = [*root.kept, *([] if root.length is None else [root.length])]
        self.inputs.append(helper.make_tensor_value_info(tensor, TensorProto.INT32, sizes))
        return root

    def _refuse(self, node: onnx.NodeProto, problem: str, hint: str) -> None:
        self.unsupported.append((node_label(node), problem, hint))


def _moved(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the operands whose strings a node passes on."""
    yield from node.input[: MOVES.get(node.op_type, 1)]


def _shape(item: onnx.ValueInfoProto) -> list[int | str] | None:
    """The declared sizes. Those without a name are called after their input and axis, since all
    indices of its strings have them.
    """
    if not item.type.tensor_type.HasField("shape"):
        return None
    return [
        size.dim_value
        if size.HasField("dim_value") and size.dim_value >= 0
        else f"{item.name}_{axis}"
        if size.dim_param.lower() in ANONYMOUS
        else size.dim_param
        for axis, size in enumerate(item.type.tensor_type.shape.dim)
    ]

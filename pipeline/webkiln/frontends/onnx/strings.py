"""String tensors: class names, and selections from them. The program computes with indices of the
names, which become labels.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Literal
from webkiln.frontends.nodes.reading import literal

STRING_OPERANDS = {
    "ArrayFeatureExtractor": (0,),
    "Gather": (0,),
    "Identity": (0,),
    "Reshape": (0,),
    "Flatten": (0,),
    "Squeeze": (0,),
    "Unsqueeze": (0,),
    "Transpose": (0,),
}
"""Operators that select or move elements, and the operand whose strings they pass on."""
ADVICE = (
    "Train it with numbers as classes: sklearn.preprocessing.LabelEncoder().fit_transform(y), and"
    " set `labels` in the recipe"
)


class StringTable:
    """The class names of a model, and the tensors of the spec that contain indices of them.

    `keys` has the keys of tensors that are dictionaries in the file, by tensor, and `labels` those
    of the model's outputs.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.tensors: set[str] = set()
        self.keys: dict[str, tuple[str, ...]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}

    def add(self, names: Sequence[str]) -> bool:
        """Set the class names. Return whether they are unique, and equal to those set before."""
        if self.names and self.names != tuple(names):
            return False
        self.names = tuple(names)
        return len(set(names)) == len(names)

    def indices(
        self, names: Sequence[str], shape: tuple[int, ...], tensor: str, where: str
    ) -> tuple[Literal, str | None]:
        """Strings of a tensor of the spec as indices into the table of class names, and why they
        cannot be. Raises SourceError if their number is not that of the shape.
        """
        if len(names) != prod(shape):
            raise SourceError(
                f"{where}: its shape is {list(shape)}, it has {len(names)} strings; the file is"
                " damaged"
            )
        problem = None
        if not self.add(names):
            problem = "has strings that repeat, or differ from the class names of the model"
        self.tensors.add(tensor)
        return literal(np.arange(len(names)).reshape(shape)), problem

    def propagates(self, node: onnx.NodeProto, inputs: Sequence[str]) -> bool | None:
        """Whether a node's output has strings; None if it computes with strings."""
        positions = tuple(position for position, name in enumerate(inputs) if name in self.tensors)
        if not positions:
            return False
        casts = node.op_type == "Cast" and any(
            item.name == "to" and item.i == onnx.TensorProto.STRING for item in node.attribute
        )
        return True if casts or positions == STRING_OPERANDS.get(node.op_type) else None

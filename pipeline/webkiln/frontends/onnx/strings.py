"""Tensors of texts: names of classes, and what is chosen from them. The program computes with their
places among the names, which become labels.
"""

from collections.abc import Sequence

import onnx

PASSING = {
    "ArrayFeatureExtractor": (0,),
    "Gather": (0,),
    "Identity": (0,),
    "Reshape": (0,),
    "Flatten": (0,),
    "Squeeze": (0,),
    "Unsqueeze": (0,),
    "Transpose": (0,),
}
"""Operators that choose or move elements, and at which operand."""
ADVICE = (
    "Train it with numbers as classes: sklearn.preprocessing.LabelEncoder().fit_transform(y), and"
    " give names by `labels` of the recipe"
)


class Texts:
    """The names that a model has for its classes, and which tensors of the spec hold some of them."""

    def __init__(self) -> None:
        self.known: tuple[str, ...] = ()
        self.tensors: set[str] = set()

    def learn(self, names: Sequence[str]) -> bool:
        """Take the names of some classes; whether there are no others."""
        if self.known and self.known != tuple(names):
            return False
        self.known = tuple(names)
        return len(set(names)) == len(names)

    def moves(self, node: onnx.NodeProto, inputs: Sequence[str]) -> bool | None:
        """Whether a node gives texts on; None where it computes with them."""
        held = tuple(position for position, name in enumerate(inputs) if name in self.tensors)
        if not held:
            return False
        casts = node.op_type == "Cast" and any(
            item.name == "to" and item.i == onnx.TensorProto.STRING for item in node.attribute
        )
        return True if casts or held == PASSING.get(node.op_type) else None

"""Initialisers and constants of dtypes that the IR does not have, such as int4 and float8. Slots
contain the bytes of the file (`nodes/narrow.py`); which operators may read them is decided here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from webkiln.frontends.nodes import narrow
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.frontends.onnx.tensors import dtype_name, is_narrow, read_array, read_bytes
from webkiln.ir.types import Array

VIEWS = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""Operators whose first operand may have any dtype, which is that of their result."""
READERS = {
    **dict.fromkeys(VIEWS, (0,)),
    "Cast": (0,),
    "CastLike": (0,),
    "DequantizeLinear": (0, 2),
    "GatherBlockQuantized": (0, 3),
    "Shape": (0,),
    "Size": (0,),
}
"""Operators that convert or move numbers of these dtypes, and their operands."""
ADVICE = (
    "Only DequantizeLinear, GatherBlockQuantized, Cast and operators that move elements read these"
    " weights; dequantise them, or quantise to 8 bits"
)


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Values of a dtype that the IR does not have, as `narrow.stored_type`."""

    bytes: Array
    dtype: str
    shape: tuple[int, ...]


class NarrowTensors:
    """The tensors of a spec that have such values, with their dtypes in the file."""

    def __init__(self) -> None:
        self.dtypes: dict[str, str] = {}

    def read(
        self, tensor: onnx.TensorProto, name: str, folder: Path | None, where: str
    ) -> Array | StoredBytes:
        """The values of a tensor that the spec calls `name`. Numbers without axes, and nothing,
        are decoded.
        """
        if not is_narrow(tensor):
            return read_array(tensor, folder, where)
        dtype, shape = dtype_name(tensor.data_type), tuple(tensor.dims)
        stored = read_bytes(tensor, folder, where)
        self.dtypes[name] = dtype
        if not shape or not stored.size:
            return narrow.numbers(stored, dtype, shape)
        return StoredBytes(stored, dtype, shape)

    def of_operands(self, inputs: Sequence[str]) -> dict[str, Any]:
        """The attribute `stored` of a node: the dtypes of these operands in the file."""
        dtypes = tuple(self.dtypes.get(name, "") for name in inputs)
        return {"stored": dtypes} if any(dtypes) else {}

    def objection(
        self,
        node: onnx.NodeProto,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attrs: Mapping[str, Any],
    ) -> str | None:
        """Why a node cannot read such tensors; None if it can. Results of nodes that move elements
        are such tensors, too.
        """
        positions = {n: self.dtypes[name] for n, name in enumerate(inputs) if name in self.dtypes}
        if 0 in positions and node.op_type in VIEWS and outputs:
            self.dtypes[outputs[0]] = positions[0]
        allowed = READERS.get(node.op_type, ())
        for position, dtype in positions.items():
            values = position not in (1, 2) or node.op_type not in ("CastLike", "QuantizeLinear")
            if position not in allowed and not (dtype == "bfloat16" and values):
                return f"reads {dtype} values"
        for graph in (value for value in attrs.values() if isinstance(value, GraphSpec)):
            for item in graph.outputs:
                if self.dtypes.get(item.tensor, "bfloat16") != "bfloat16":
                    return f"returns {self.dtypes[item.tensor]} values from a branch or loop"
        return None

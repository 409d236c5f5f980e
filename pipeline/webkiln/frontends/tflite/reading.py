"""The state of reading a file."""

from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights
from webkiln.frontends.nodes.spec import Declared
from webkiln.frontends.tflite.file import TfliteFile
from webkiln.frontends.tflite.tensors import FileTensor
from webkiln.ir.types import DTYPES


class Reading:
    """The collected parts of a file. Tensors, nodes and slots are named by position."""

    def __init__(self, file: TfliteFile) -> None:
        self.file = file
        self.weights = StoredWeights()
        self.unsupported: list[tuple[str, str, str]] = []
        self.labels = DistinctNames()
        self.count = 0
        self.opened: list[int] = []
        self.layers: dict[str, int] = {}
        self.named: dict[str, FileTensor] = {}
        self.inlining = Inlining(file.name, 0)

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count - 1}"

    def declare(self, name: str, tensor: str) -> Declared | None:
        """The file's metadata of a tensor of the main graph."""
        item = self.named.get(tensor)
        if item is None or item.dtype not in DTYPES:
            return None
        return Declared(
            name,
            tensor,
            item.dtype,
            tuple(None if size == -1 else size for size in item.signature),
        )

"""Labels in a model file. Its metadata refer to files in an archive at the end of the file."""

import io
import zipfile
import zlib
from pathlib import Path

from webkiln.frontends.tflite.file import TfliteFile
from webkiln.frontends.tflite.flatbuffer import FlatBuffer, FlatTable
from webkiln.frontends.tflite.schema import AXIS_LABELS, METADATA
from webkiln.frontends.tflite.signatures import end_names, select_graph

MAX_LABELS = 16 << 20
NAME = "TFLITE_METADATA"


def output_labels(path: Path, signature: str = "") -> dict[str, list[str]]:
    """The labels of each output that has exactly one label file, with one label per line."""
    file = TfliteFile(path)
    data = file.metadata(NAME)
    if data is None:
        return {}
    index, signature_entry = select_graph(file, signature)
    _, outputs = end_names(file, index, signature_entry)
    root = FlatBuffer(data, f"{file.name}: its metadata", METADATA).root("ModelMetadata")
    graphs = root.vector("subgraph_metadata")
    if index >= len(graphs):
        return {}
    labels: dict[str, list[str]] = {}
    for (_, name), tensor in zip(
        outputs, graphs[index].vector("output_tensor_metadata"), strict=False
    ):
        files = _label_files(tensor)
        lines = _lines(file, files[0]) if len(files) == 1 else []
        if lines:
            labels[name] = lines
    return labels


def _label_files(tensor: FlatTable) -> list[str]:
    """Among label files in several languages, the one without a language."""
    files = [item for item in tensor.vector("associated_files") if item["type"] == AXIS_LABELS]
    plain = [item for item in files if not item.text("locale")]
    return [item.text("name") for item in (plain or files)]


def _lines(file: TfliteFile, name: str) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(file.buffer.data)) as archive:
            if archive.getinfo(name).file_size > MAX_LABELS:
                return []
            text = archive.read(name).decode("utf-8", errors="replace")
    except (
        zipfile.BadZipFile,
        KeyError,
        NotImplementedError,
        RuntimeError,
        OSError,
        EOFError,
        zlib.error,
    ):
        return []
    return text.splitlines()

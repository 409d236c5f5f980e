"""Metadata of SavedModels, frozen graphs and TensorFlow.js graph models for `webkiln inspect`."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.inspect.facts import (
    FileFacts,
    Inspector,
    SignatureFacts,
    TensorFacts,
    listed,
    rows,
)
from webkiln.frontends.nodes.summary import describe_nodes
from webkiln.frontends.tensorflow.attributes import open_shape
from webkiln.frontends.tensorflow.files import (
    first_bytes,
    frozen_version,
    is_saved_model,
    served_graph,
    signatures_of,
)
from webkiln.frontends.tensorflow.messages import dtype_name


def read_facts(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> FileFacts:
    del params
    path = inputs["source"]
    if is_saved_model(path):
        return _saved_model(path)
    if first_bytes(path).lstrip()[:1] == b"{":
        return _graph_model(path)
    return FileFacts(
        rows(kind="a frozen graph (GraphDef)", version=f"GraphDef {frozen_version(path)}")
    )


def _saved_model(path: Path) -> FileFacts:
    graph = served_graph(path)
    about = graph.meta_info_def
    signatures = [
        SignatureFacts(
            str(name),
            *(
                tuple(map(_tensor, ends, ends.values()))
                for ends in (dict(item.inputs), dict(item.outputs))
            ),
        )
        for name, item in sorted(signatures_of(graph).items(), key=lambda pair: str(pair[0]))
    ]
    return FileFacts(
        rows(
            kind="a SavedModel",
            written_by=f"TensorFlow {about.tensorflow_version}" if about.tensorflow_version else "",
            tags=listed([str(tag) for tag in about.tags]),
        ),
        tuple(signatures),
    )


def _tensor(name: Any, info: Any) -> TensorFacts:
    return TensorFacts(str(name), dtype_name(info.dtype), open_shape(info.tensor_shape))


def _graph_model(path: Path) -> FileFacts:
    table: Any = None
    with suppress(ValueError, RecursionError):
        table = json.loads(path.read_bytes())
    if not isinstance(table, dict):
        raise SourceError(
            f"{path.name}: is not a graph model of TensorFlow.js:"
            " it is not a JSON object; the file is damaged"
        )
    names = [
        str(item)
        for group in table.get("weightsManifest") or ()
        if isinstance(group, dict)
        for item in group.get("paths") or ()
    ]
    return FileFacts(
        rows(
            kind="a graph model of TensorFlow.js",
            written_by=listed(
                [str(table[key]) for key in ("generatedBy", "convertedBy") if table.get(key)]
            ),
            beside_it=listed(names),
        )
    )


FACTS = Inspector(read_facts, describe_nodes)

"""Metadata of a LiteRT file for `webkiln inspect`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.inspect.facts import (
    FileFacts,
    Inspector,
    SignatureFacts,
    TensorFacts,
    listed,
    rows,
)
from webkiln.frontends.nodes.summary import describe_nodes
from webkiln.frontends.tflite.file import FileSignature, TfliteFile

RUNTIME = "min_runtime_version"


def read_facts(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> FileFacts:
    del params
    file = TfliteFile(inputs["source"])
    oldest = bytes(file.metadata(RUNTIME) or b"").rstrip(b"\0").decode(errors="replace")
    metadata = [item.text("name") for item in file.model.vector("metadata")]
    return FileFacts(
        rows(
            written_by=file.model.text("description"),
            version=(
                "schema"
                f" {file.model['version']}{oldest and f', for TensorFlow Lite {oldest} or newer'}"
            ),
            graphs=(
                listed(
                    [
                        table.text("name") or f"number {index}"
                        for index, table in enumerate(file.subgraphs)
                    ]
                )
                if len(file.subgraphs) > 1
                else ""
            ),
            metadata=listed([name for name in metadata if name != RUNTIME]),
        ),
        (
            tuple(_signature(file, item) for item in file.signatures)
            if len(file.signatures) > 1
            else ()
        ),
    )


def _signature(file: TfliteFile, item: FileSignature) -> SignatureFacts:
    tensors = file.tensors(item.subgraph)

    def ends(names: Mapping[int, str]) -> tuple[TensorFacts, ...]:
        return tuple(
            TensorFacts(
                name,
                tensors[number].dtype,
                tuple(None if size == -1 else size for size in tensors[number].signature),
            )
            for number, name in names.items()
        )

    return SignatureFacts(item.key, ends(item.inputs), ends(item.outputs))


FACTS = Inspector(read_facts, describe_nodes)

"""Metadata of a Caffe net for `webkiln inspect`: the version of its format, and its companion."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.caffe.signatures import is_text
from webkiln.frontends.caffe.text import read_text
from webkiln.frontends.caffe.weights import WeightFile
from webkiln.frontends.inspect.facts import FileFacts, Inspector, listed, rows
from webkiln.frontends.nodes.summary import describe_nodes


def read_facts(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> FileFacts:
    del params
    path = inputs["source"]
    with path.open("rb") as file:
        is_definition = is_text(file.read(4096))
    net = read_text(path.read_bytes(), path.name).net if is_definition else WeightFile(path).net
    external = inputs.get("external/")
    return FileFacts(
        rows(
            kind=(
                "a definition"
                if is_definition
                else (
                    "weights with their definition"
                    if any(x.top for x in (*net.layer, *net.layers))
                    else "weights"
                )
            ),
            version=_version(net),
            net=net.name,
            beside_it=(
                listed([path.name for path in sorted(external.iterdir())])
                if external is not None
                else ""
            ),
        )
    )


def _version(net: Any) -> str:
    """The version of the layer format: V0 nests layers in layers, V1 has numeric types, V2 has
    types by name.
    """
    if not net.layers:
        return "V2 (layer)"
    return (
        "V0 (layers with a layer inside)"
        if any(layer.HasField("layer") for layer in net.layers)
        else "V1 (layers)"
    )


FACTS = Inspector(read_facts, describe_nodes)

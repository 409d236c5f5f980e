"""A recording -> spec and weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.chainer.parts import recorded_part
from webkiln.frontends.chainer.recording import read
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.nodes.spec import to_json


def load(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    model, blobs = recorded_part(*read(inputs["source"]), subgraph_from_params(params))
    return to_json(model), blobs

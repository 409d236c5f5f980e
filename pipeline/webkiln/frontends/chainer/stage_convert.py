"""spec.json of a recorded chain -> its structure in the IR."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.converted import Converted
from webkiln.frontends.nodes.stage import converted_nodes


def converted(
    data: Mapping[str, Any], inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> AbstractContextManager[Converted]:  # fmt: skip
    return converted_nodes(ChainerConverter, data, inputs, params)

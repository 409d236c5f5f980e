"""Chainer does not run on the Python versions that webkiln supports, so its outputs must be
recorded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import ToolError
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    raise ToolError(
        "reference outputs need Chainer, which runs on Python 3.9 or less, where webkiln does not"
        " run; build without verification"
    )

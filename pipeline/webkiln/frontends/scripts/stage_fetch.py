"""A file that an export script writes, of any format that has no program of its own for what the
user's code makes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.model_functions import export
from webkiln.plugins import isolated_plugins


def fetch(inputs: Mapping[str, Path], params: Mapping[str, Any], target: Path) -> None:
    with isolated_plugins():
        export(inputs["script.py"], params, target)

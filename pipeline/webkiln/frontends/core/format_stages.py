"""The programs of model formats, by name: the graph of actions adds their modules to the code of a
stage.
"""

from importlib import import_module
from typing import Any

SCRIPTS = "scripts"
"""Whose program of `fetch` runs the export scripts of formats that have none."""


def program(format_name: str, stage: str) -> Any:
    """The module of a format that a stage calls."""
    return import_module(f"webkiln.frontends.{format_name}.stage_{stage}")

"""Modules that implement the stages of a model format, imported by name. The action graph adds
their code to the key of the stage.
"""

from importlib import import_module
from typing import Any

SCRIPTS = "scripts"
"""The pseudo-format whose `fetch` runs export scripts, for formats without a `fetch` of their own.
"""


def stage_module(format_name: str, stage: str) -> Any:
    """The module that implements a stage for a format."""
    return import_module(f"webkiln.frontends.{format_name}.stage_{stage}")

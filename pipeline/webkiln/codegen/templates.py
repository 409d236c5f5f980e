"""Code templates and intrinsics of `kernels/`, and the engines of `runtime/engines/`."""

import re
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2

from webkiln.codegen.scripts import DECLARATION, flatten
from webkiln.codegen.segment_names import SEGMENT, in_segment

_INCLUDED = re.compile(r'include "([\w.]+)\.jinja"')
_HELPER = re.compile(r"\bwk_\w+|\bWK_\w+")
_OF_SEGMENT = re.compile(rf"(\w+){SEGMENT}(\d+)")


class Templates:
    """Renders the templates below `root`, a checkout or the shared files of an installed package.

    `kernels/<template>.<language>.jinja` are the templates. `kernels/intrinsics.<language>`
    contains the helper functions of a language, separated by blank lines. The first `wk_` or `WK_`
    name in a paragraph is the name of its helper. `runtime/engines/` contains the modules that run
    WebGPU and WebGL programs.
    """

    def __init__(self, root: Path) -> None:
        self.kernels = root / "kernels"
        self.engines = root / "runtime" / "engines"

    @cached_property
    def _environment(self) -> jinja2.Environment:
        loader = jinja2.FileSystemLoader(self.kernels)
        return jinja2.Environment(
            loader=loader,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            undefined=jinja2.StrictUndefined,
        )

    def render(self, template: str, **values: Any) -> str:
        """Render `<template>.jinja`. Its variable `intrinsics` is the text of the helpers that
        `lines` need, in file order.
        """
        language = template.rsplit(".", 1)[1]
        helpers = self._helpers(language)
        needed: set[str] = set()
        queue = _HELPER.findall("\n".join(values["lines"]))
        while queue:
            name = queue.pop()
            if match := _OF_SEGMENT.fullmatch(name):
                helpers |= _of_segment(helpers, match[1], int(match[2]))
            if name not in needed and name in helpers:
                needed.add(name)
                queue += _HELPER.findall(helpers[name])
        intrinsics = "\n\n".join(text for name, text in helpers.items() if name in needed)
        return self._environment.get_template(f"{template}.jinja").render(
            intrinsics=intrinsics, **values
        )

    def text(self, template: str) -> str:
        """The text of a template and of those that it includes, before they are rendered."""
        own = (self.kernels / f"{template}.jinja").read_text("utf-8")
        return "\n".join([own, *(self.text(name) for name in _INCLUDED.findall(own))])

    def engine(self, *modules: str) -> str:
        """Modules of an engine, bundled with those that they import, without exports."""
        return DECLARATION.sub("", flatten(self.engines, modules, {}))

    def _helpers(self, language: str) -> dict[str, str]:
        result = {}
        for paragraph in (
            (self.kernels / f"intrinsics.{language}").read_text().strip().split("\n\n")
        ):
            match = _HELPER.search(paragraph)
            if match:
                result[match.group()] = paragraph.strip("\n")
        return result


def _of_segment(helpers: dict[str, str], name: str, binding: int) -> dict[str, str]:
    """The helper of the arena called `name`, if there is one, as a helper of a segment."""
    text = helpers.get(name)
    return {} if text is None else {f"{name}{SEGMENT}{binding}": in_segment(text, binding)}

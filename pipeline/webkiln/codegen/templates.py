"""The frames and helper functions in `kernels/`: a printed kernel carries exactly the helpers that it uses."""

import re
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2

from webkiln.codegen.scripts import DECLARATION, flatten

_HELPER = re.compile(r"\bwk_\w+|\bWK_\w+")


class Templates:
    """`folder` holds `<frame>.<language>.jinja` and `vocabulary.<language>`: helpers separated by blank lines, named by the first wk_ word."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _environment(self) -> jinja2.Environment:
        loader = jinja2.FileSystemLoader(self.folder)
        return jinja2.Environment(
            loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
        )

    def render(self, frame: str, **values: Any) -> str:
        """Fill `<frame>.jinja`; `vocabulary` in it is the text of the helpers that its `lines` need, in file order."""
        language = frame.rsplit(".", 1)[1]
        helpers = self._helpers(language)
        needed: set[str] = set()
        queue = _HELPER.findall("\n".join(values["lines"]))
        while queue:
            name = queue.pop()
            if name not in needed and name in helpers:
                needed.add(name)
                queue += _HELPER.findall(helpers[name])
        vocabulary = "\n\n".join(text for name, text in helpers.items() if name in needed)
        return self._environment.get_template(f"{frame}.jinja").render(vocabulary=vocabulary, **values)

    def script(self, name: str) -> str:
        """A module of the folder, joined with those that it imports, to stand inside another."""
        return DECLARATION.sub("", flatten(self.folder, [name], {}))

    def _helpers(self, language: str) -> dict[str, str]:
        result = {}
        for paragraph in (self.folder / f"vocabulary.{language}").read_text().strip().split("\n\n"):
            found = _HELPER.search(paragraph)
            if found:
                result[found.group()] = paragraph.strip("\n")
        return result

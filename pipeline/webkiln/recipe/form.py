"""How a bundle is written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from webkiln.errors import RecipeError
from webkiln.recipe.values import FORMS, choose


@dataclass(frozen=True)
class Form:
    """A `folder` for a web server, an `npm` package, or a `single` file with everything inside.

    With `hashed`, the files that `index.js` refers to have content-hashed names, so that caches may
    keep them for ever. `package` has the fields of package.json.
    """

    kind: str = "folder"
    hashed: bool = False
    package: Mapping[str, str] = field(default_factory=dict)


PACKAGE: dict[str, re.Pattern[str]] = {
    "name": re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*"),
    "version": re.compile(
        r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
    ),
    "license": re.compile(r"[^\n]+"),
    "description": re.compile(r"[^\n]+"),
}
"""Fields of an npm package that a recipe may set, as npm and semver.org (2.0.0) define them."""
EXAMPLES = {"name": "@me/model", "version": "1.2.0", "license": "MIT", "description": "one line"}
LONGEST = 214
"""Characters of a package's name: npm's limit."""


def check_form(form: Form, where: str) -> None:
    """Raise RecipeError for fields that npm refuses, and for combinations that contradict."""
    choose("format", [form.kind], FORMS, where)
    choose("key in package", form.package.keys() or ["name"], PACKAGE, where)
    for key, value in form.package.items():
        if not PACKAGE[key].fullmatch(value) or len(value) > LONGEST:
            raise RecipeError(
                f"{where}: package.{key} is {value!r}, which npm does not take; expected such as"
                f" {EXAMPLES[key]}"
            )
    if form.kind == "npm" and not {"name", "version"} <= form.package.keys():
        raise RecipeError(
            f"{where}: an npm package needs a name and a version: [package] in a recipe, or"
            " --package @me/model@1.0.0"
        )
    if form.kind == "single" and form.hashed:
        raise RecipeError(
            f"{where}: a single file refers to no other file, so hashed has nothing to rename;"
            " leave hashed out"
        )

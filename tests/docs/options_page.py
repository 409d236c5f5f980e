"""Writes docs/options.md and the plugin's options.js from the table of options.

Run: python -m tests.docs.options_page
"""

import json
from pathlib import Path

from tests.docs.wrapping import wrap
from webkiln.build.variables import VARIABLES
from webkiln.recipe.options import OPTIONS, Option

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "options.md"
SCRIPT = ROOT / "runtime" / "unplugin" / "src" / "options.js"
HEAD = """# Options

<!-- Written by `make docs` from pipeline/webkiln/recipe/options.py -->

An option of a build is a key of `recipe.toml`, an option of `webkiln build`, and, if it changes
the bundle that a page loads, an option of an import
(`import { load } from './my.keras?webkiln&…'`).
Options on the command line and in imports apply to the recipe: tables and lists of files extend it,
other values replace it. Paths are relative to the recipe, the working directory, or the importing
module.

"""
SOURCE = """### source

Where the model comes from. In a recipe it is a path, `"package.module:function"`,
`{ url = ..., sha256 = ... }`, `{ path = ..., weights = ... }`, `{ module = ..., weights = ... }` or
`{ script = ..., function = ... }`. On the command line it is the argument of `webkiln build`, with
`--weights FILE`; in imports it is the path, with `weights=FILE`. `--name` and `name=` set
the name of the bundle. Default: that of the recipe's folder or of the file.

"""


def page() -> str:
    sections = "".join(map(_section, OPTIONS))
    variables = "".join(f"* `{name}=`: {text}.\n" for name, text in VARIABLES.items())
    return wrap(
        f"{HEAD}{SOURCE}{sections}## Variables of doit\n\n"
        "`doit build model=digits encoding=int8`; a variable with several values has commas.\n\n"
        f"{variables}"
    )


def _section(option: Option) -> str:
    forms = [] if "." in option.key else [f"recipe: `{option.key}`"]
    flag = option.flag
    if flag.name:
        value = f" {flag.metavar}" if flag.metavar else ""
        repetition = ", several times" if flag.kind == "many" else ""
        forms.append(f"command line: `--{flag.name}{value}`{repetition}")
        if flag.in_imports:
            forms.append(f"import: `{flag.name}`")
    if option.variable:
        forms.append(f"doit: `{option.variable}=`")
    text = option.help[0].upper() + option.help[1:]
    expected = f" The recipe has {option.expected}." if option.expected else ""
    lines = "".join(f"* {form}\n" for form in forms)
    return f"### {option.key}\n\n{text}.{expected}\n\n{lines}\n"


def script() -> str:
    """The options of imports, for the plugin of bundlers."""
    rows: dict[str, dict[str, bool]] = {"name": {}, "weights": {"path": True}}
    for flag in (option.flag for option in OPTIONS):
        if flag.name and flag.in_imports:
            properties = {
                "many": flag.kind == "many",
                "flag": flag.kind == "switch",
                "path": flag.path,
                "named": flag.name == "labels",
            }
            rows[flag.name] = {
                name: property_value
                for name, property_value in properties.items()
                if property_value
            }
    lines = "".join(
        f"    {_key(name)}: {_object(properties)},\n" for name, properties in rows.items()
    )
    return (
        "/* Written by `make docs` from pipeline/webkiln/recipe/options.py. */\n\n"
        "/**\n * The options of an import: whether they may be given several times, have no value,"
        " or are paths,\n * which are relative to the importing module; `named` paths may follow"
        " NAME=.\n"
        " * @type {Map<string, { many?: boolean, flag?: boolean, path?: boolean, named?: boolean"
        " }>}\n */\n"
        f"export const OPTIONS = new Map(\n  Object.entries({{\n{lines}  }}),\n);\n"
    )


def _key(name: str) -> str:
    return f"'{name}'" if "-" in name else name


def _object(properties: dict[str, bool]) -> str:
    content = ", ".join(
        f"{name}: {json.dumps(property_value)}" for name, property_value in properties.items()
    )
    return f"{{ {content} }}" if content else "{}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    SCRIPT.write_text(script(), "utf-8")

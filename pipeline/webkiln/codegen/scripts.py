"""JavaScript modules combined into one file, as small as is possible without a minifier."""

import re
from collections.abc import Sequence
from pathlib import Path

from webkiln.errors import InternalError

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|(?<![:\\'"`])//[^\n]*)
      | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)
      | (?P<regex>(?<=[(=,?:])\s?/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)""",
    re.VERBOSE | re.DOTALL,
)
IMPORT = re.compile(r"^import \{\s*([^}]+?),?\s*\} from '\./([a-z_]+)\.js';\n", re.MULTILINE)
REEXPORT = re.compile(r"^export \{\s*([^}]+?),?\s*\} from '\./([a-z_]+)\.js';\n", re.MULTILINE)
EXPORT = re.compile(r"^export \{\s*([^}]+?),?\s*\};\n", re.MULTILINE)
CONTINUED = re.compile(r"(?<=[(\[,=&|])\n|(?<==>)\n|\n(?=[)\].?:])")
"""Line ends at which no statement can end."""
DECLARATION = re.compile(r"^export (?=(?:async )?(?:class|const|function\*?|let) )", re.MULTILINE)
NAME = re.compile(
    r"^(?:export )?(?:async )?(?:class|const|function\*?|let) \*?([\w$]+)", re.MULTILINE
)


def strip_comments(text: str) -> str:
    """Remove comments. Strings, templates and regular expressions are unchanged."""
    return TOKEN.sub(lambda token: "" if token["comment"] else token[0], text)


def compact(text: str) -> str:
    """Remove indentation and blank lines, and join the lines of an expression.

    No template may span lines.
    """
    lines = "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())
    return CONTINUED.sub("", lines)


def enclosed(text: str) -> tuple[str, list[str]]:
    """A module without imports as the body of a function, and its exports, as `name` or `exported:
    name`.
    """
    names = NAME.findall(
        "".join(line for line in text.splitlines(keepends=True) if DECLARATION.match(line))
    )
    for listed in EXPORT.findall(text):
        names += [
            ": ".join(reversed(item.split(" as ")))
            for item in map(str.strip, listed.split(","))
            if item
        ]
    body = DECLARATION.sub("", EXPORT.sub("", text))
    if re.search(r"^(import|export)\b", body, re.MULTILINE):
        raise InternalError("a module to enclose has imports or unknown forms of exports")
    return body, names


def flatten(sources: Path, entries: Sequence[str], outside: dict[str, str]) -> str:
    """Bundle modules with everything that they import into one module with the same exports,
    without comments and indentation.

    Modules import and re-export by name only, one statement a line. `outside` maps modules that
    stay separate to the file that contains them.
    """
    parts: list[str] = []
    imported: dict[str, set[str]] = {}
    owners: dict[str, str] = {}
    done: set[str] = set()

    def visit(module: str) -> None:
        if module in done:
            return
        done.add(module)
        bare = strip_comments((sources / f"{module}.js").read_text("utf-8"))
        text = compact(bare)
        for names, needed in IMPORT.findall(text) + REEXPORT.findall(text):
            if needed in outside:
                imported.setdefault(outside[needed], set()).update(
                    name.strip() for name in names.split(",")
                )
            else:
                visit(needed)
        text = REEXPORT.sub(lambda line: f"export {{ {line[1]} }};\n", IMPORT.sub("", text))
        for name in NAME.findall(bare):
            if name in owners:
                raise InternalError(
                    f"{sources.name}: {module}.js and {owners[name]}.js both declare {name}"
                )
            owners[name] = module
        parts.append(text if module in entries else DECLARATION.sub("", text))

    for entry in entries:
        visit(entry)
    head = [
        f"import {{ {', '.join(sorted(names))} }} from './{file}';\n"
        for file, names in sorted(imported.items())
    ]
    return "".join(head + parts)

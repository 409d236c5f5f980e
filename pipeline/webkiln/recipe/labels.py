"""Labels of outputs: the names in a file, and the outputs that they belong to."""

import json
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError


def read_labels(path: Path) -> list[str]:
    """The names in a file: a JSON list; a JSON table by number, of names or of lists that end in a
    name; or one name per line.
    """
    text = path.read_text("utf-8", errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = None if {"\0", "\ufffd"} & set(text) else text.splitlines()
    if isinstance(found, dict) and found.keys() == set(map(str, range(len(found)))):
        rows = (found[str(number)] for number in range(len(found)))
        found = [row[-1] if isinstance(row, list) and row else row for row in rows]
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise RecipeError(
            "labels: the file is neither a JSON list of names, nor a JSON table by number from 0,"
            " nor text with one name per line"
        )
    return found


def with_labels(outputs: list[dict[str, Any]], labels: Any) -> list[dict[str, Any]]:
    """Attach class names. A list belongs to every output whose last axis has its length; a table
    names outputs.
    """
    if not labels:
        return outputs
    names = [output["name"] for output in outputs]
    if isinstance(labels, dict):
        if unknown := sorted(set(labels) - set(names)):
            raise RecipeError(
                f"labels: there is no output {', '.join(unknown)}; the outputs are"
                f" {', '.join(names)}"
            )
        table = labels
    else:
        table = {o["name"]: labels for o in outputs if o["shape"] and o["shape"][-1] == len(labels)}
        if not table:
            shapes = ", ".join(f"{o['name']} {o['shape']}" for o in outputs)
            raise RecipeError(
                f"labels: {len(labels)} labels match the last axis of no output ({shapes})"
            )
    for output in outputs:
        count = len(table.get(output["name"], ()))
        if count and (not output["shape"] or output["shape"][-1] != count):
            raise RecipeError(
                f"labels: {count} labels for output {output['name']} of shape {output['shape']}"
            )
    return [{**o, "labels": list(table[o["name"]])} if o["name"] in table else o for o in outputs]

"""Writes the table of docs/from-pytorch.md: python -m tests.docs.torch_page"""

import torch

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from webkiln.frontends.torch.converter import HANDLERS
from webkiln.frontends.torch.labels import IGNORED
from webkiln.frontends.torch.operators.spectrum import COMPLEX
from webkiln.frontends.torch.randomness import FORMULAS

PAGE = ROOT / "docs" / "from-pytorch.md"
MARK = "<!-- The table below is written by python -m tests.docs.torch_page -->\n"
GRADIENT = "computes gradients; bundles do not train"
REFUSED = {
    "resize_": "changes how many elements a tensor has in its own memory; use reshape",
    "sym_is_contiguous": "depends on strides, which do not exist here",
}


def core() -> list[str]:
    """The operators that the installed torch tags as core ATen, as `name.overload`."""
    names = []
    for qualified_name in torch._C._dispatch_get_all_op_names():
        space, _, name = qualified_name.partition("::")
        packet, _, overload = name.partition(".")
        if space != "aten":
            continue
        op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        if op is not None and torch.Tag.core in op.tags:
            names.append(f"{packet}.{overload or 'default'}")
    return sorted(names)


def reason(op: str) -> str:
    """The reason why an operator is not supported, or ""."""
    name = op.partition(".")[0]
    if op in FORMULAS or HANDLERS.find("", name) or name in HANDLERS.folds.ops:
        return ""
    if name in COMPLEX or name in IGNORED:
        return ""
    return GRADIENT if "backward" in name else REFUSED[name]


def table() -> str:
    ops = core()
    refused = [(op, op_reason) for op in ops if (op_reason := reason(op))]
    converted = [op for op in ops if not reason(op)]
    lines = [
        (
            f"\nOf the {len(ops)} operators that torch {torch.__version__.partition('+')[0]} calls"
            f" core ATen, {len(converted)} are converted"
            f" ({len(converted) / len(ops):.0%}). Refused are\n"
        ),
        "| operator | why |",
        "|---|---|",
        *(f"| `{op}` | {op_reason} |" for op, op_reason in refused),
        "\nConverted are\n",
        ", ".join(f"`{op}`" for op in converted),
        "\nand of those that torch would write with others, by their names without overload,\n",
        ", ".join(
            f"`{name}`"
            for name in sorted(set(HANDLERS.tables[""]) - {op.partition(".")[0] for op in ops})
            if not name.startswith(("sym_", "If", "Loop"))
        ),
        "\nOf torchvision: "
        + ", ".join(f"`{name}`" for name in sorted(HANDLERS.tables["torchvision"]))
        + ".",
    ]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the current table."""
    return wrap(_text())


def _text() -> str:
    text = PAGE.read_text("utf-8")
    return text[: text.index(MARK) + len(MARK)] + table()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

"""Writes the end of docs/from-scikit-learn.md: `python -m tests.docs.scikit_learn_page`. Its tables
list the operators of ai.onnx.ml and the models of the corpus.
"""

from pathlib import Path

from tests.docs.wrapping import wrap
from tests.frontends.corpus import corpus
from webkiln.frontends.onnx.classical import UNSUPPORTED
from webkiln.frontends.onnx.operators.table import DOMAINS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "from-scikit-learn.md"
MARK = "<!-- What follows is written by python -m tests.docs.scikit_learn_page -->\n"


def page() -> str:
    """The page with current tables."""
    return wrap(_text())


def _text() -> str:
    """The page with current tables. The text before the mark is unchanged."""
    text = PAGE.read_text("utf-8").partition(MARK)[0]
    operators = ", ".join(f"`{op}`" for op in sorted(DOMAINS["ai.onnx.ml"]))
    names = ", ".join(
        f"`{path.stem}`"
        for path in corpus(ROOT / "tests" / "frontends" / "onnx" / "corpus", [".onnx"])
    )
    rows = "\n".join(
        f"| `{op}` | {reason} | {alternative} |"
        for op, (reason, alternative) in sorted(UNSUPPORTED.items())
    )
    return (
        f"{text}{MARK}\nConverted are, in all versions of the domain (1 to 5), {operators}. Refused"
        f" are\n\n| operator | because it | instead |\n|---|---|---|\n{rows}\n\nModels that are"
        f" compared with onnxruntime on every backend (`tests/frontends/onnx/make.py`): {names}.\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

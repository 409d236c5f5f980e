"""Writes docs/from-tensorflow.md: python -m tests.docs.tensorflow_page"""

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from webkiln.frontends.tensorflow.fold import FOLDS
from webkiln.frontends.tensorflow.legacy import ENTERS, EXITS, MERGES, SWITCHES
from webkiln.frontends.tensorflow.operators.complex import COMPLEX
from webkiln.frontends.tensorflow.operators.table import OPERATORS
from webkiln.frontends.tensorflow.scope import CALLS, PASSED, TABLES, VARIABLES
from webkiln.frontends.tensorflow.unsupported import REFUSED
from webkiln.frontends.tensorflow.walk import BRANCHES, CASES, UNSAID

PAGE = ROOT / "docs" / "from-tensorflow.md"
HEAD = """# Graphs of TensorFlow

SavedModels of TensorFlow 1 and 2 (those that Keras and `tf.keras` write, too), frozen graphs (`.pb`), and graph models of TensorFlow.js. TensorFlow itself is not needed to build them, only to
compute reference outputs for verification; those that were recorded elsewhere serve as well ([references.md](references.md)). Keras's own files (`.keras`, `.h5`, layers models) are described in [keras.md](keras.md). Whole networks are compared with TensorFlow in [families.md](families.md#tensorflow).

    webkiln build my_saved_model -o public/model

    import { load } from './public/model/index.js';
    const model = await load();
    const { output_0 } = await model.run({ x: pixels });

Give the folder of a SavedModel or its `saved_model.pb`, a `.pb` file, or the `model.json` (or the folder) of a model of TensorFlow.js. A recipe says the same: `source = "my_saved_model"`. What a file
is, its bytes say; where there are none to look at yet (a URL, what an export script will write) its name, or `source_format = "tensorflow"`.

## What becomes of a file

* **Signatures.** A SavedModel is built by its signature `serving_default`, or by the one that `--signature NAME` (in recipes `signature`) says; inputs and outputs are called as the signature calls them.
  A frozen graph has none: its inputs are the placeholders that something reads, its outputs the nodes that nothing reads, without what loops and assertions leave over.
* **Variables** are read from the checkpoint beside the SavedModel, by what the graph's own restoring nodes or the objects of the file call them, and are trained weights, as are constants of floats with
  axes. Small constants of integers are structure. Tables of numbers (`tf.lookup.StaticHashTable`) become part of the model.
* **Variables that the run assigns** are states of the bundle: what one run leaves, the next one begins with (stateful recurrent layers, counters, caches). They are assigned as a whole, outside of
  branches and loops.
* **Complex numbers** are computed in two parts, so Fourier transforms, `tf.signal.stft` and its inverse, MFCCs and the arithmetic between them work; a bundle neither takes nor gives them.
* **Functions** are inlined. Assertions, prints and other nodes without a result are left out.
* **Control flow** of both TensorFlows: `If`, `Case` and `While` with functions, and `Switch`, `Merge`, `Enter`, `Exit`, `NextIteration`. Of a `Merge` both sides are computed and one is taken. A loop that takes as
  many steps as a size says becomes a recurrence, whatever the size; one of at most 64 known steps whose shapes change is written out; another runs as long as its condition says. Lists of tensors and
  TensorArrays are tensors with one more axis.
* **Sizes** that the file leaves open stay open, called `INPUT_AXIS`: set or rename them with `--dim x_0=1`, or give a whole shape with `--input-shape x=1,224,224,3`. Arithmetic on shapes is computed while the
  model is built. `--value` fixes an input for good.
* **Parts.** `--from-layer NAME` and `--to-layer NAME` build what lies between two nodes ([parts.md](parts.md)).
* **Numbers.** As [onnx.md](onnx.md#numbers) says. Operators promote nothing, as TensorFlow's.

## Not supported

Strings, sparse and ragged tensors, `bfloat16`, quantised types, random numbers, training; variables that are assigned in parts, in branches or in loops. What a model has of these is named
all at once, with its nodes. `TensorFlowConverter.register_handler("MyOp")` in a plugin converts an operator of your own:

    from webkiln.frontends.tensorflow.converter import TensorFlowConverter

    @TensorFlowConverter.register_handler("MyOp")
    def my_op(call):
        return call.op("Relu", [call.tensor(0)])

## Operators
"""


def page() -> str:
    """The page as it should be."""
    return wrap(_text())


def _text() -> str:
    handled = sorted(OPERATORS)
    folded = sorted(FOLDS.ops - OPERATORS.keys())
    seen = sorted(
        {
            *PASSED,
            *VARIABLES,
            *TABLES,
            *CALLS,
            *UNSAID,
            *BRANCHES,
            *CASES,
            *SWITCHES,
            *MERGES,
            *ENTERS,
            *EXITS,
            "Const",
            "LoopCond",
            "NextIteration",
            "Placeholder",
        }
    )
    parts = [
        f"{len(handled)} are converted:",
        ", ".join(f"`{name}`" for name in handled) + ".",
        f"{len(folded)} more are computed while the model is built, from sizes and constants: "
        + ", ".join(f"`{name}`" for name in folded)
        + ".",
        f"{len(seen)} are read as structure: " + ", ".join(f"`{name}`" for name in seen) + ".",
        f"{len(COMPLEX)} also, or only, with complex numbers: "
        + ", ".join(f"`{name}`" for name in sorted(COMPLEX))
        + ".",
        "These are refused, by name and with what to do instead:",
        "\n".join(
            [
                "| operators | what they do | instead |",
                "|---|---|---|",
                *(
                    f"| {', '.join(f'`{name}`' for name, own in REFUSED.items() if own == (what, hint))}"
                    f" | {what} | {hint} |"
                    for what, hint in dict.fromkeys(REFUSED.values())
                ),
            ]
        ),
        "Others have no handler.",
    ]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

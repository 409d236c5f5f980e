"""Writes docs/from-tensorflow.md: python -m tests.docs.tensorflow_page"""

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from webkiln.frontends.tensorflow.branches import BRANCHES, CASES
from webkiln.frontends.tensorflow.fold import FOLDS
from webkiln.frontends.tensorflow.legacy import ENTERS, EXITS, MERGES, SWITCHES
from webkiln.frontends.tensorflow.operators.complex import COMPLEX
from webkiln.frontends.tensorflow.operators.table import OPERATORS
from webkiln.frontends.tensorflow.ordering import WITHOUT_OUTPUTS
from webkiln.frontends.tensorflow.scope import CALLS, PASS_THROUGH, TABLES, VARIABLES
from webkiln.frontends.tensorflow.unsupported import REFUSED

PAGE = ROOT / "docs" / "from-tensorflow.md"
HEAD = """# From TensorFlow

webkiln reads SavedModels of TensorFlow 1 and 2, including those that Keras and `tf.keras` export,
frozen graphs (`.pb`) and TensorFlow.js graph models. For Keras's own files (`.keras`, `.h5`, layers
models), see [keras.md](keras.md).

    webkiln build my_saved_model -o public/model

    import { load } from './public/model/index.js';
    const model = await load();
    const { output_0 } = await model.run({ x: pixels });

The source is the folder of a SavedModel or its `saved_model.pb`, a `.pb` file, or the `model.json`
or folder of a TensorFlow.js model. In a recipe: `source = "my_saved_model"`. The format is detected
from the content. For a source that does not exist yet (a URL, or the output of an export script) it
is detected from the name, or set with `source_format = "tensorflow"`.

Conversion does not need TensorFlow. Verification does, unless the recipe names recorded outputs
([references.md](references.md)). [families.md](families.md#tensorflow) compares networks with
TensorFlow.

## Conversion

* **Signatures.** The default is `serving_default`; `--signature NAME` (in recipes `signature`)
  selects another. Inputs and outputs have the signature's names. A frozen graph has no signature:
  its inputs are the placeholders that are read, its outputs the nodes that are not read, except
  those of loops and assertions.
* **Variables** are read from the SavedModel's checkpoint, by the names in the graph's restore nodes
  or in the object graph. Variables, and float constants of rank 1 or more, are weights. Small
  integer constants are part of the program's structure. Numeric tables
  (`tf.lookup.StaticHashTable`) are compiled in.
* **Variables that a run assigns** (stateful recurrent layers, counters, caches) are states of the
  bundle: they persist from one run to the next. An assignment must cover the variable and be
  outside branches and loops.
* **Complex numbers** are computed as pairs of real tensors. This covers Fourier transforms,
  `tf.signal.stft` and its inverse, MFCCs and arithmetic. Inputs and outputs must be real.
* **Functions** are inlined. Assertions, prints and other nodes without results are removed.
* **Control flow** of both versions is converted: `If`, `Case` and `While`, and `Switch`, `Merge`,
  `Enter`, `Exit` and `NextIteration`. Both inputs of a `Merge` are computed, and one is selected. A
  loop whose trip count is a size becomes a recurrence. A loop of at most 64 steps whose shapes
  change is unrolled. Other loops run until their condition is false. Tensor lists and TensorArrays
  become tensors with one more axis.
* **Dynamic sizes** are named `INPUT_AXIS`. Set or rename them with `--dim x_0=1`, or give a full
  shape with `--input-shape x=1,224,224,3` (`--input-shape rate=` for one number). An input of
  unknown rank needs one. Shape arithmetic is evaluated at build time. `--value rate=0.5` fixes an
  input, and its shape if its rank is unknown.
* **TensorFlow.js graph models** are read as the converter writes them: constants in shards,
  quantised ones included, and fused convolutions and products.
* **Parts.** `--from-layer NAME` and `--to-layer NAME` build the part between two nodes
  ([parts.md](parts.md)).
* **Dtypes.** See [onnx.md](onnx.md#numbers). As in TensorFlow, operators do not promote dtypes.

## Not supported

Strings, sparse and ragged tensors, `bfloat16`, quantized dtypes, random numbers and training;
variables that are assigned in part, in branches or in loops. One error names all of them, with
their nodes. A plugin can convert other operators with `TensorFlowConverter.register_handler`:

    from webkiln.frontends.tensorflow.converter import TensorFlowConverter

    @TensorFlowConverter.register_handler("MyOp")
    def my_op(call):
        return call.op("Relu", [call.tensor(0)])

## Operators
"""

STRUCTURAL = frozenset(
    {
        *PASS_THROUGH,
        *VARIABLES,
        *TABLES,
        *CALLS,
        *WITHOUT_OUTPUTS,
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
"""Operators that describe the structure of a graph."""


def page() -> str:
    """The generated page."""
    return wrap(_text())


def _operators(reason: str, hint: str) -> str:
    """The unsupported operators with this reason and hint."""
    return ", ".join(f"`{name}`" for name, item in REFUSED.items() if item == (reason, hint))


def _text() -> str:
    handled = sorted(OPERATORS)
    folded = sorted(FOLDS.ops - OPERATORS.keys())
    structural = sorted(STRUCTURAL)
    parts = [
        f"{len(handled)} operators are converted:",
        ", ".join(f"`{name}`" for name in handled) + ".",
        f"{len(folded)} more are evaluated at build time, from sizes and constants: "
        + ", ".join(f"`{name}`" for name in folded)
        + ".",
        f"{len(structural)} describe the graph's structure: "
        + ", ".join(f"`{name}`" for name in structural)
        + ".",
        f"{len(COMPLEX)} accept complex numbers, some of them nothing else: "
        + ", ".join(f"`{name}`" for name in sorted(COMPLEX))
        + ".",
        "These are refused with a hint:",
        "\n".join(
            [
                "| operators | reason | use instead |",
                "|---|---|---|",
                *(
                    f"| {_operators(reason, hint)} | {reason} | {hint} |"
                    for reason, hint in dict.fromkeys(REFUSED.values())
                ),
            ]
        ),
        "All other operators are refused by name.",
    ]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

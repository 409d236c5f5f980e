"""Writes docs/from-tflite.md from the tables of operators: python -m tests.docs.tflite_page"""

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from tests.frontends.tflite.integer_singles import INTEGER_SINGLES
from tests.frontends.tflite.singles import SINGLES
from webkiln.frontends.tflite.fold import FOLDS
from webkiln.frontends.tflite.load import VARIABLES
from webkiln.frontends.tflite.operators.table import DOMAINS, OPERATORS
from webkiln.frontends.tflite.schema import OPERATORS as BUILTIN

PAGE = ROOT / "docs" / "from-tflite.md"

NO_KERNEL = frozenset(
    (
        "CONCAT_EMBEDDINGS",
        "CALL",
        "CUSTOM",
        "DELEGATE",
        "PLACEHOLDER_FOR_GREATER_OP_CODES",
        "REDUCE_WINDOW",
        *(
            f"STABLEHLO_{name}"
            for name in [
                "LOGISTIC",
                "DIVIDE",
                "RESHAPE",
                "CLAMP",
                "CONCATENATE",
                "BROADCAST_IN_DIM",
                "CONVOLUTION",
                "SLICE",
                "CUSTOM_CALL",
                "REDUCE",
                "ABS",
                "COSINE",
                "EXPONENTIAL",
                "FLOOR",
                "LOG",
                "NEGATE",
                "OR",
                "POWER",
                "REMAINDER",
                "RSQRT",
                "SELECT",
                "SUBTRACT",
                "TANH",
                "COMPARE",
                "CONVERT",
                "DYNAMIC_SLICE",
                "DYNAMIC_UPDATE_SLICE",
                "IOTA",
                "DOT_GENERAL",
                "SORT",
                "WHILE",
                "TRANSPOSE",
                "CBRT",
            ]
        ),
    )
)
"""Numbers that stand for no operator that the interpreter runs."""

REASONS: dict[str, str] = {
    "HASHTABLE": "tables of texts",
    "HASHTABLE_FIND": "tables of texts",
    "HASHTABLE_IMPORT": "tables of texts",
    "HASHTABLE_SIZE": "tables of texts",
    "HASHTABLE_LOOKUP": "tables of texts",
    "LSH_PROJECTION": "hashes of texts",
    "SKIP_GRAM": "takes texts",
    "EMBEDDING_LOOKUP_SPARSE": "sparse tensors",
    "DENSIFY": "sparse weights; convert the model without sparsity",
    "RANDOM_STANDARD_NORMAL": "draws random numbers; make them an input",
    "RANDOM_UNIFORM": "draws random numbers; make them an input",
    "MULTINOMIAL": "draws random numbers; make them an input",
    "STABLEHLO_RNG_BIT_GENERATOR": "draws random numbers; make them an input",
    "STABLEHLO_SCATTER": (
        "StableHLO with a graph of its own; convert to TensorFlow Lite's operators"
    ),
    "STABLEHLO_REDUCE_WINDOW": (
        "StableHLO with a graph of its own; convert to TensorFlow Lite's operators"
    ),
    "STABLEHLO_GATHER": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_PAD": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_COMPOSITE": (
        "StableHLO with a graph of its own; convert to TensorFlow Lite's operators"
    ),
    "STABLEHLO_AND": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_SHIFT_LEFT": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_CASE": "StableHLO with graphs of its own; convert to TensorFlow Lite's operators",
}

INTEGERS = ("int8", "uint8", "int16")

HEAD = """# From TensorFlow Lite (LiteRT)

    pip install 'webkiln[tflite]'
    webkiln build model.tflite -o public/model
    # in the page:
    import { load } from './model/index.js';
    const model = await load();
    const { output } = await model.run({ input });

`.tflite` files of every version since 2017 (schema 3) are read without TensorFlow; `ai-edge-litert`, which the extra installs, is only for `verify`. The page is written from the tables (`python -m tests.docs.tflite_page`).

## What becomes of a file

* **Names.** Inputs and outputs are called as the signature says, or where there is none as the tensors are.
* **Several graphs.** `--signature NAME` (in recipes `signature = "NAME"`) chooses by a signature's key or a graph's name; without it the first graph is built.
* **Open sizes.** A size that the file leaves open (-1 in its signature) is called after its input and axis (`x_0`) and set when the model runs; `--input-shape x=1,224,224,3` fixes it. The file's arithmetic of shapes is computed while converting.
* **Weights** of float16 (with their DEQUANTIZE), of bytes, and packed ones of 4 and 2 bits are read; those of files of more than 2 GB stand behind the tables.
* **Quantised models** are computed in integers, step by step as the interpreter's reference kernels do, with equal bits on all four backends: no step needs more than 32 bits, so that webgpu and webgl, which have no 64-bit numbers, compute the same. The factors that follow from scales are weights, so that
  quantising anew with the same zero points recompiles nothing. Bounds of fused activations and zero points are structure.
* **Dynamic range.** Where weights of a byte meet floats, activations are quantised while the model runs, as the interpreter does, each batch or row by itself.
* **Recurrent layers of integers**: LSTM of int8 with a cell of int16, with or without an input gate, peepholes and a projection, and SVDF of int8. Sigmoid and tanh are computed in fixed point of 16 bits.
* **States.** Variables (CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE) and the states of recurrent layers are states of the bundle: they last from run to run until `reset`.
* **Labels.** A file of labels that the metadata name for an output (TENSOR_AXIS_LABELS) becomes the labels of that output, where the recipe has none.
* **Custom operators**: TFLite_Detection_PostProcess, and MediaPipe's Convolution2DTransposeBias, MaxPoolingWithArgmax2D and MaxUnpooling2D. Others by a handler in a plugin (`--plugin handlers.py`):

      from webkiln.frontends.tflite.converter import TfliteConverter

      @TfliteConverter.register_handler("MyOperator", domain="custom")
      def my_operator(call):
          return call.op("Relu", [call.tensor(0)])   # call.attr("custom_options") has its bytes

## Where the interpreter's own kernels differ

`verify` compares with the reference kernels (`BUILTIN_REF`), or with what was recorded ([references.md](references.md)). Against the optimised ones, results may be off by one step:

| operator | the reference kernels | the optimised ones |
|---|---|---|
| FULLY_CONNECTED of integers | one rounding of a product in float64; here a factor of 30 bits | two roundings of a factor of 31 bits |
| MEAN, AVERAGE_POOL_2D, SOFTMAX of integers | fixed point | partly floats or tables |
| RESIZE_BILINEAR of uint8 | float32 | fixed point |
| SUM of int8 and int16 | read the operand as uint8; webkiln does what they do for uint8 | float32 |
| LOCAL_RESPONSE_NORMALIZATION | leave out the last neighbour | as TensorFlow, and as webkiln |
| DIV of integers | shift by more places than a number has, where quotients are small beside the steps of the result; webkiln rounds them to 0 | the same |
| BIDIRECTIONAL_SEQUENCE_LSTM, batch first, outputs merged, several batches | mix rows of batches; webkiln does not | the same |
| ELU, and others without a reference kernel | the optimised ones are compared with | |
"""


def tried() -> dict[str, list[str]]:
    """The dtypes that single operators of the corpus have, by operator."""
    found: dict[str, list[str]] = {}
    for single in (*SINGLES, *INTEGER_SINGLES):
        item = (
            next((item for item in single.inputs if item is not None and item.value is None), None)
            or single.outputs[0]
        )
        weights = [
            other.dtype
            for other in single.inputs
            if other is not None and other.value is not None and other.scale is not None
        ]
        dtype = (
            "float32, weights int8" if item.dtype == "float32" and "int8" in weights else item.dtype
        )
        kinds = found.setdefault(single.op, [])
        if dtype not in kinds:
            kinds.append(dtype)
    return found


def rows() -> list[tuple[str, str, str]]:
    """(operator, supported or why not, dtypes of the corpus)."""
    dtypes = tried()
    known = OPERATORS.keys() | FOLDS.ops | VARIABLES
    return [
        (op, "yes" if op in known else f"no: {REASONS[op]}", ", ".join(dtypes.get(op, ())))
        for op in BUILTIN
        if op not in NO_KERNEL or op in known
    ]


def page() -> str:
    """The page as it should be."""
    return wrap(_text())


def _text() -> str:
    table = rows()
    count = sum(said == "yes" for _, said, _ in table)
    lines = [
        HEAD,
        "## Operators",
        "",
        (
            f"{count} of the {len(table)} builtin operators that the interpreter runs"
            f" ({100 * count // len(table)} %). The last column has the dtypes with which single"
            " operators stand in the"
        ),
        (
            "corpus of tests, computed there by the interpreter; whole networks are there besides."
            " A quantised operator that is not converted in integers is refused by name."
        ),
        "",
        "| operator | converted | tried alone with |",
        "|---|---|---|",
        *(f"| {op} | {said} | {dtypes} |" for op, said, dtypes in table),
        "",
        f"Custom ones: {', '.join(DOMAINS['custom'])}.",
        "",
        "## What is refused",
        "",
        (
            "Everything that is not converted is named at once, with the nodes. Texts, complex"
            " inputs and outputs, sparse weights, scales by blocks, and states inside branches and"
            " loops are refused."
        ),
        (
            "In integers these are refused: LSTM layers that normalise their gates, or whose cell"
            " is not int16 with a scale of a power of 2 from 2**-15 to 2**-9, LSTM layers of two"
            " directions and RNN layers, for which the interpreter has"
        ),
        (
            "no integers either (quantise their weights only), SVDF layers without RELU,"
            " LOG_SOFTMAX of int16, and RESIZE_BILINEAR of open sizes;"
        ),
        (
            "NON_MAX_SUPPRESSION_V5 with a sigma is refused, too. Of recurrent layers that stay"
            " loops (an LSTM or a GRU of Keras 3 without `unroll=True`) there are no files in"
            " integers to try: the converter of TensorFlow 2.21 crashes while it calibrates them."
        ),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

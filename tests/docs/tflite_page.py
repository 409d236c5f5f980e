"""Writes docs/from-tflite.md from the tables of operators: python -m tests.docs.tflite_page"""

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from tests.frontends.tflite.singles.table import INTEGER_SINGLES, SINGLES
from webkiln.frontends.tflite.enumerations import OPERATORS as BUILTIN
from webkiln.frontends.tflite.fold import FOLDS
from webkiln.frontends.tflite.graphs import VARIABLES
from webkiln.frontends.tflite.operators.table import DOMAINS, OPERATORS

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
"""Codes of the schema that the interpreter has no kernel for."""

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
    "STABLEHLO_SCATTER": ("StableHLO with a subgraph; convert to TensorFlow Lite's operators"),
    "STABLEHLO_REDUCE_WINDOW": (
        "StableHLO with a subgraph; convert to TensorFlow Lite's operators"
    ),
    "STABLEHLO_GATHER": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_PAD": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_COMPOSITE": ("StableHLO with a subgraph; convert to TensorFlow Lite's operators"),
    "STABLEHLO_AND": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_SHIFT_LEFT": "StableHLO; convert to TensorFlow Lite's operators",
    "STABLEHLO_CASE": "StableHLO with subgraphs; convert to TensorFlow Lite's operators",
}

INTEGERS = ("int8", "uint8", "int16")

HEAD = """# From TensorFlow Lite (LiteRT)

    pip install 'webkiln[tflite]'
    webkiln build model.tflite -o public/model

and in the page

    import { load } from './model/index.js';
    const model = await load();
    const { output } = await model.run({ input });

webkiln reads `.tflite` files of schema 3 (every version since 2017) without TensorFlow. The extra
installs `ai-edge-litert`, which only `verify` needs. `python -m tests.docs.tflite_page` generates
this page.

## Conversion

* **Names.** Inputs and outputs have the names of the signature, or else of the tensors.
* **Subgraphs.** `--signature NAME` (in recipes `signature = "NAME"`) selects a signature or a
  subgraph by name. The default is the first subgraph.
* **Dynamic sizes.** A size of -1 in a shape signature is named after the input and the axis
  (`x_0`), and set at run time. `--input-shape x=1,224,224,3` fixes it. Shape arithmetic is
  evaluated at build time.
* **Weights** are read as float32, float16 and bfloat16 (with their DEQUANTIZE), int8, and packed
  int4 and int2, also from files above 2 GB. A bundle contains them as the file does; the program
  decodes them when it loads them.
* **Quantized models** are computed in integers, like the interpreter's reference kernels, with the
  same bits on all four backends. No step needs more than 32 bits, since webgpu and webgl have no
  64-bit integers. Multipliers derived from scales are weights: a model that was requantized with
  the same zero points recompiles nothing. Zero points and the bounds of fused activations are
  compiled in.
* **Dynamic range quantization.** Where int8 weights meet float activations, the activations are
  quantized at run time, by batch or row, as in the interpreter, and multiplied in integers. Where
  rows have zero points of their own (`asymmetric_quantize_inputs` and several rows), a bundle also
  contains the sum of each column of the weights; convolutions of a batch decode theirs to int32.
* **Integer recurrent layers**: int8 LSTM with an int16 cell state, with or without input gate,
  peepholes and projection, and int8 SVDF. Sigmoid and tanh use 16-bit fixed point.
* **States.** Variables (CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE) and the states of
  recurrent layers persist from one run to the next, until `reset`.
* **Labels.** If the recipe has no labels, the metadata's label file (TENSOR_AXIS_LABELS) of an
  output is used.
* **Custom operators**: AudioSpectrogram, Mfcc, TFLite_Detection_PostProcess, and MediaPipe's
  Convolution2DTransposeBias, MaxPoolingWithArgmax2D and MaxUnpooling2D. A plugin (`--plugin
  handlers.py`) can convert others:

      from webkiln.frontends.tflite.converter import TfliteConverter

      @TfliteConverter.register_handler("MyOperator", domain="custom")
      def my_operator(call):
          # call.attr("custom_options") has the operator's bytes
          return call.op("Relu", [call.tensor(0)])

## Differences between the interpreter's kernels

`verify` compares with the reference kernels (`BUILTIN_REF`) or with recorded outputs
([references.md](references.md)). The optimized kernels may differ by one quantization step:
"""
KERNELS = (
    (
        "integer FULLY_CONNECTED",
        "round a float64 product once; webkiln uses a 30-bit multiplier",
        "round the product of a 31-bit multiplier twice",
    ),
    (
        "integer MEAN, AVERAGE_POOL_2D, SOFTMAX",
        "fixed point",
        "partly floats or tables",
    ),
    (
        "uint8 RESIZE_BILINEAR",
        "float32",
        "fixed point",
    ),
    (
        "int8 and int16 SUM",
        "read the operand as uint8; webkiln computes as for uint8",
        "float32",
    ),
    (
        "LOCAL_RESPONSE_NORMALIZATION",
        "omit the last neighbour",
        "as TensorFlow and webkiln",
    ),
    (
        "integer DIV",
        (
            "shift by more bits than the type has if quotients are small against the result's"
            " scale; webkiln rounds them to 0"
        ),
        "the same",
    ),
    (
        "integer LSTM with peepholes and a projection to fewer units",
        "omit the peepholes of the last units; webkiln does not",
        "the same",
    ),
    (
        "layers with int8 weights of -128, which the format excludes",
        "may negate them in 8 bits; webkiln does not",
        "the same",
    ),
    (
        "BIDIRECTIONAL_SEQUENCE_LSTM, batch first, merged outputs, batch above 1",
        "mix rows of different batches; webkiln does not",
        "the same",
    ),
    (
        "ELU and others without a reference kernel",
        "verified against the optimized kernels",
        "",
    ),
)
"""Operators, and how the reference kernels and the optimized kernels compute them."""
TAIL = """## Not supported

One error lists everything that is not converted, with the nodes. Strings, complex inputs and
outputs, sparse weights, block-wise scales, and states inside branches and loops are rejected.

These integer operators are rejected:

* LSTM layers that normalise their gates, or whose cell state is not int16 with a power of 2 from
  2**-15 to 2**-9 as its scale;
* bidirectional LSTM layers and RNN layers, for which the interpreter has no integer kernels
  (quantise only their weights);
* SVDF layers without RELU, LOG_SOFTMAX of int16, and RESIZE_BILINEAR with dynamic sizes.

NON_MAX_SUPPRESSION_V5 with a sigma is rejected, too. Integer files with recurrent layers as loops
(an LSTM or a GRU of Keras 3 without `unroll=True`) are not tested: the converter of TensorFlow 2.21
crashes while it calibrates them.
"""


def tested_dtypes() -> dict[str, list[str]]:
    """The dtypes of the single-operator tests, by operator."""
    dtypes: dict[str, list[str]] = {}
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
        op_dtypes = dtypes.setdefault(single.op, [])
        if dtype not in op_dtypes:
            op_dtypes.append(dtype)
    return dtypes


def rows() -> list[tuple[str, str, str]]:
    """(operator, "yes" or "no: " and the reason, tested dtypes)."""
    dtypes = tested_dtypes()
    supported = OPERATORS.keys() | FOLDS.ops | VARIABLES
    return [
        (op, "yes" if op in supported else f"no: {REASONS[op]}", ", ".join(dtypes.get(op, ())))
        for op in BUILTIN
        if op not in NO_KERNEL or op in supported
    ]


def page() -> str:
    """The generated page."""
    return wrap(_text())


def _text() -> str:
    table = rows()
    count = sum(converted == "yes" for _, converted, _ in table)
    lines = [
        HEAD,
        "| operator | reference kernels | optimized kernels |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in KERNELS),
        "",
        "## Operators",
        "",
        (
            f"{count} of the {len(table)} builtin operators that the interpreter"
            f" runs ({100 * count // len(table)} %) are converted. The last column"
            " lists the dtypes of the single-operator tests, whose expected outputs"
            " the interpreter computed; the corpus also has networks. A quantized"
            " operator without an integer implementation is rejected by name."
        ),
        "",
        "| operator | converted | tested dtypes |",
        "|---|---|---|",
        *(f"| {op} | {converted} | {dtypes} |" for op, converted, dtypes in table),
        "",
        f"Custom ones: {', '.join(DOMAINS['custom'])}.",
        "",
        TAIL,
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

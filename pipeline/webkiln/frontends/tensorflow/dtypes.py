"""The dtypes and declared shapes of node outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.frontends.tensorflow.attributes import open_shape
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES, OTHERS, dtype_name
from webkiln.frontends.tensorflow.source import OperatorDefinitions

LISTED = "variant"
"""A list of tensors or a TensorArray, which is a tensor with one more axis in the spec."""
DTYPE_NAMES = frozenset({*DTYPES.values(), *COMPLEX.values(), *OTHERS.values()})
USUAL = ("T=float32",)
"""The default: outputs have the dtype of the `T` attribute."""


def _all(results: Sequence[str], operators: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(operators.split(), tuple(results))


RESULTS: Mapping[str, Sequence[str]] = {
    **_all(
        ["float32"],
        "AudioSpectrogram CropAndResize Mfcc FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars"
        " FakeQuantWithMinMaxVarsPerChannel ResizeArea ResizeBicubic ResizeBilinear",
    ),
    **_all(
        ["bool"],
        "All Any ApproximateEqual Equal Greater GreaterEqual InTopK InTopKV2 IsFinite IsInf IsNan"
        " Less LessEqual LogicalAnd LogicalNot LogicalOr NotEqual",
    ),
    **_all(["int64"], "LookupTableSize LookupTableSizeV2"),
    **_all(["dtype"], "ImageProjectiveTransformV2 ImageProjectiveTransformV3"),
    **_all(
        ["int32"],
        "Bucketize NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4"
        " Rank TensorArraySizeV3 TensorListLength",
    ),
    **_all(
        [LISTED],
        "EmptyTensorList TensorListFromTensor TensorListPushBack TensorListReserve TensorListResize"
        " TensorListScatter TensorListScatterV2 TensorListSetItem TensorListSplit",
    ),
    **_all([LISTED], "TensorArrayV3 TensorArrayWriteV3 TensorArrayScatterV3 TensorArraySplitV3"),
    **_all(
        ["Tout"],
        "BatchMatMulV3 LookupTableFind LookupTableFindV2 If StatelessIf Case StatelessCase",
    ),
    **_all(["Tout=float32"], "Angle ComplexAbs Imag Real"),
    **_all(["Tcomplex=complex64"], "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D RFFT3D"),
    **_all(["Treal=float32"], "IRFFT IRFFT2D IRFFT3D"),
    **_all(["Tparams"], "Gather GatherNd GatherV2"),
    **_all(["Tidx=int32"], "Range UnravelIndex"),
    **_all(["out_type=int32"], "LowerBound Shape ShapeN Size UpperBound"),
    **_all(["output_type=int64"], "ArgMax ArgMin"),
    **_all(
        ["dtype"],
        "Empty ResourceGather ResourceGatherNd TensorArrayGatherV3 TensorArrayReadV3 ReadVariableOp"
        " VariableV2 Variable Const",
    ),
    **_all(["element_dtype"], "TensorListGather TensorListGetItem TensorListStack"),
    **_all(["element_dtype", "int64"], "TensorListConcat TensorListConcatV2"),
    **_all(["T=int32"], "BroadcastArgs DataFormatVecPermute InvertPermutation"),
    **_all(["T", "U"], "FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx"),
    **_all(["T", "out_idx=int32"], "ListDiff Unique UniqueV2"),
    "Multinomial": ("output_dtype=int64",),
    **_all(
        ["dtype"],
        "RandomUniform RandomStandardNormal TruncatedNormal StatelessRandomUniformInt"
        " StatelessRandomUniformIntV2",
    ),
    **_all(
        ["dtype=float32"],
        "StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal"
        " StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2",
    ),
    "RandomUniformInt": ("Tout",),
    "StatelessRandomGetKeyCounter": ("uint64", "uint64"),
    "StatelessRandomGetKeyCounterAlg": ("uint64", "uint64", "int32"),
    "StatelessRandomGetAlg": ("int32",),
    **_all(
        ["output_types"],
        "DatasetToSingleElement IteratorGetNext IteratorGetNextSync OptionalGetValue",
    ),
    **_all(
        ["component_types"], "QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeue"
    ),
    **_all(["uint8"], "DecodeAndCropJpeg DecodeBmp DecodeGif DecodeJpeg"),
    **_all(["dtype=uint8"], "DecodeImage DecodePng PlaceholderWithDefault"),
    "DecodeRaw": ("out_type",),
    "Cast": ("DstT",),
    "CombinedNonMaxSuppression": ("float32", "float32", "float32", "int32"),
    "Conj": ("T=complex64",),
    "Complex": ("Tout=complex64",),
    "HistogramFixedWidth": ("dtype=int32",),
    "MaxPoolWithArgmax": ("T", "Targmax=int64"),
    "Merge": ("T", "int32"),
    "NonMaxSuppressionV5": ("int32", "T=float32", "int32"),
    "TensorArrayConcatV3": ("dtype", "int64"),
    "TensorListPopBack": (LISTED, "element_dtype"),
    "TopK": ("T", "int32"),
    "TopKV2": ("T", "index_type=int32"),
    "Where": ("int64",),
}
"""Exceptions, by output: a dtype, or an attribute and its default. The last entry applies to all
further outputs.
"""


def dtype_of(node: Any, index: int, operators: OperatorDefinitions) -> str:
    """The TensorFlow dtype of an output; "" if it is unknown. `operators` has the file's operator
    definitions.
    """
    if node.op in PARSERS:
        types = node.attr["Tdense"].list.type
        dense = index - 3 * int(node.attr[PARSERS[node.op]].i)
        return dtype_name(types[dense]) if 0 <= dense < len(types) else ""
    defined = [output.dtype for output in operators.get(node.op, ())]
    entries = RESULTS.get(node.op) or defined or USUAL
    entry, _, default = entries[min(index, len(entries) - 1)].partition("=")
    if entry not in node.attr:
        return default or (entry if entry in DTYPE_NAMES else "")
    declared = node.attr[entry]
    codes = [declared.type] if declared.HasField("type") else list(declared.list.type)
    return dtype_name(codes[min(index, len(codes) - 1)]) if codes else ""


STATED = {
    **dict.fromkeys(("IteratorGetNext", "IteratorGetNextSync"), ("output_shapes",)),
    **dict.fromkeys(("OptionalGetValue", "DatasetToSingleElement"), ("output_shapes",)),
}
"""Operators that state the shapes of their outputs -> the attribute."""
PARSERS = {"ParseExample": "Nsparse", "ParseExampleV2": "num_sparse"}
"""Operators that parse records, and the attribute with the number of sparse features. Each of these
has three outputs before the dense features.
"""
IMAGES = frozenset({"DecodeAndCropJpeg", "DecodeBmp", "DecodeJpeg", "DecodePng"})
"""Operators whose output is an image, [height, width, channels]."""


def declared_shape(node: Any, index: int) -> tuple[int | None, ...] | None:
    """The declared shape of an output, if the file has shapes, or if its operator states them."""
    attribute = next(
        (name for name in ("_output_shapes", *STATED.get(node.op, ())) if name in node.attr), None
    )
    if node.op == "PlaceholderWithDefault" and "shape" in node.attr:
        return open_shape(node.attr["shape"].shape)
    if attribute is None and node.op in IMAGES:
        return (None, None, int(node.attr["channels"].i) or None)
    if attribute is None:
        return _parsed_shape(node, index) if node.op in PARSERS else None
    shapes = node.attr[attribute].list.shape
    return open_shape(shapes[index]) if index < len(shapes) else None


def _parsed_shape(node: Any, index: int) -> tuple[int | None, ...] | None:
    """The shape of a dense feature, with the axis of the records."""
    dense = index - 3 * int(node.attr[PARSERS[node.op]].i)
    shapes = node.attr["dense_shapes"].list.shape
    shape = open_shape(shapes[dense]) if 0 <= dense < len(shapes) else None
    return None if shape is None else (None, *shape)

"""Operators of ai.onnx.ml that compute features: scaling, imputation, encoding."""

from math import isnan

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.shape import reshaped
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import filled, largest, total


def as_float(call: NodeCall, x: Tensor) -> Tensor:
    """Convert integers to float32."""
    return x if is_float(x.dtype) else cast(call, x, "float32")


def features(call: NodeCall) -> Tensor:
    """The first operand as floats [samples, features]; a vector is one sample."""
    x = as_float(call, call.tensor(0))
    if x.type.rank not in (1, 2):
        raise call.error(f"its features are {x.type}, expected [samples, features]")
    return reshaped(call, x, (1, *x.shape)) if x.type.rank == 1 else x


def check_width(call: NodeCall, x: Tensor, width: Size, at_least: bool = False) -> None:
    """Raise ShapeError if the number of features differs from that of the training data."""
    actual = x.shape[-1]
    if not is_symbolic(actual) and (actual < width if at_least else actual != width):
        raise call.error(
            f"was trained on {width}{' or more' if at_least else ''} features, its operand is"
            f" {x.type}"
        )


def cast_operand(call: NodeCall, position: int, like: Tensor) -> Tensor:
    """A trained operand in the dtype of another tensor."""
    return cast(call, call.tensor(position), like.dtype)


def optional_operand(call: NodeCall, position: int, like: Tensor) -> Tensor | None:
    """A trained operand that may be absent, in the dtype of another tensor."""
    return cast_operand(call, position, like) if call.has(position) else None


def scaler(call: NodeCall) -> Tensor:
    x = as_float(call, call.tensor(0))
    offset, scale = (optional_operand(call, position, x) for position in (1, 2))
    for values in filter(None, (offset, scale)):
        if values.type.size != 1:
            check_width(call, x, values.type.size)
    y = x if offset is None else call.op("Sub", [x, offset])
    return cast(call, y if scale is None else call.op("Mul", [y, scale]), "float32")


def normalizer(call: NodeCall) -> Tensor:
    """Divide each row by its maximum, L1 norm or L2 norm; rows of zeros stay unchanged."""
    x = as_float(call, call.tensor(0))
    axis = x.type.rank - 1
    match call.attr("norm"):
        case "MAX":
            norm = largest(call.builder, x, axis, keepdims=True)
        case "L1":
            norm = total(call.builder, call.op("Abs", [x]), axis, keepdims=True)
        case _:
            norm = call.op("Sqrt", [total(call.builder, x * x, axis, keepdims=True)])
    safe = call.op("Where", [call.op("Equal", [norm, call.like(0, x)]), call.like(1, x), norm])
    return cast(call, call.op("Div", [x, safe]), "float32")


def imputer(call: NodeCall) -> Tensor:
    x, replaced = call.tensor(0), call.attr("replaced")
    values = cast_operand(call, 1, x)
    if values.type.size != 1:
        check_width(call, x, values.type.size)
    is_nan = is_float(x.dtype) and isnan(replaced)
    lacking = call.op("IsNaN", [x]) if is_nan else call.op("Equal", [x, call.like(replaced, x)])
    return call.op("Where", [lacking, values, x])


def binarizer(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    wide = as_float(call, x)
    return cast(call, call.op("Greater", [wide, call.like(call.attr("threshold"), wide)]), x.dtype)


def feature_vectorizer(call: NodeCall) -> Tensor:
    """Concatenate the operands, each cropped or padded with zeros to its width."""
    parts = []
    widths = call.attr("widths")
    for number, x in enumerate(call.tensors()):
        rows = reshaped(call, x, (1, *x.shape)) if x.type.rank == 1 else x
        rows = reshaped(call, rows, (rows.shape[0], rows.type.size // rows.shape[0]))
        columns = rows.shape[1]
        width = widths[number] if number < len(widths) else columns
        parts.append(cast(call, part(call, rows, 1, 0, min(width, columns)), "float32"))
        if width > columns:
            parts.append(filled(call.builder, 0, "float32", (rows.shape[0], width - columns)))
    return call.op("Concat", parts, {"axis": 1}) if len(parts) > 1 else parts[0]


def array_feature_extractor(call: NodeCall) -> Tensor:
    """Gather elements along the last axis; for a vector, the result is [1, indices]."""
    x, indices = call.tensor(0), call.tensor(1)
    rows = reshaped(call, x, (1, *x.shape)) if x.type.rank == 1 else x
    return call.op(
        "Gather",
        [rows, reshaped(call, indices, (indices.type.size,))],
        {"axis": rows.type.rank - 1},
    )


def label_encoder(call: NodeCall) -> Tensor:
    """The value of the first equal key; since version 4, NaN is a key as well."""
    x, keys, values, default = (call.tensor(position) for position in range(4))
    wide = reshaped(call, x, (*x.shape, 1))
    keys = cast(call, keys, x.dtype)
    same = call.op("Equal", [wide, keys])
    if is_float(x.dtype) and call.version >= 4:
        same = call.op(
            "Or", [same, call.op("And", [call.op("IsNaN", [wide]), call.op("IsNaN", [keys])])]
        )
    axis = x.type.rank
    matches = cast(call, same, "int32")
    index = call.op("ArgMax", [matches], {"axis": axis, "keepdims": False})
    is_key = call.op("Greater", [largest(call.builder, matches, axis), call.constant(0, "int32")])
    return call.op(
        "Where",
        [is_key, call.op("Gather", [values, index], {"axis": 0}), reshaped(call, default, ())],
    )


def one_hot(call: NodeCall) -> Tensor:
    """A new last axis with 1 at the category; zeros for unknown categories."""
    x = call.tensor(0)
    integers = cast(call, x, "int64")
    is_category = call.op("Equal", [reshaped(call, integers, (*x.shape, 1)), call.tensor(1)])
    return cast(call, is_category, "float32")


def zip_map(call: NodeCall) -> Tensor:
    """The values [samples, classes] of one dictionary a sample; the keys become labels."""
    x, classes = features(call), call.attr("classes")
    if is_symbolic(x.shape[1]) or x.shape[1] != classes:
        raise call.error(f"has {classes} keys, its operand is {x.type}")
    return call.op("Identity", [x])


CLASSICAL: dict[str, NodeHandler] = {
    "Scaler": scaler,
    "Normalizer": normalizer,
    "Imputer": imputer,
    "Binarizer": binarizer,
    "FeatureVectorizer": feature_vectorizer,
    "ArrayFeatureExtractor": array_feature_extractor,
    "LabelEncoder": label_encoder,
    "OneHotEncoder": one_hot,
    "ZipMap": zip_map,
}

"""Layers with string inputs. Their string processing runs in JavaScript before the model; the
graph's inputs are indices.

Semantics: keras/src/layers/preprocessing/{text_vectorization,string_lookup,hashing}.py and the
tf.strings operations that these call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.keras.spec import LayerSpec, ModelSpec, Ref, renamed

LOOKUPS = frozenset({"StringLookup", "TextVectorization"})
TAKING = LOOKUPS | {"Hashing"}
"""Layers that may read a string input."""
STANDARDIZE = (None, "lower", "strip_punctuation", "lower_and_strip_punctuation")
SPLIT = (None, "whitespace", "character")
FUNCTION = "a function of Python"
NOWHERE = -1
"""A category that no vector counts."""
ENDING = "_length"
"""The suffix of the placeholder for the maximum number of tokens of an input."""

SHOWN_WORDS = 200


def text_inputs(model: ModelSpec) -> dict[str, str]:
    """The string inputs: the name of each, by its layer's name."""
    kinds = {
        layer.name
        for layer in model.layers
        if layer.kind == "input" and layer.config.get("dtype") == "string"
    }
    return {ref.layer: name for name, ref in model.inputs if ref.layer in kinds}


def text_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Config values for strings, which the canonical config lacks."""
    found = {key: config[key] for key in ("standardize", "split") if key in config}
    functions = {
        key: value if value is None or isinstance(value, str) else FUNCTION
        for key, value in found.items()
    }
    return {**functions, **({"ragged": True} if config.get("ragged") else {}), "dtype": "float32"}


def learnt_tokens(where: str, config: Mapping[str, Any], values: Sequence[str]) -> list[str]:
    """A vocabulary without the leading mask and out-of-vocabulary tokens, as in Keras."""
    mask, unknown = mask_token(config), int(config.get("num_oov_indices", 1))
    special = [
        *([mask] if mask is not None and _mode(config) == "int" else []),
        *[config.get("oov_token", "[UNK]")] * unknown,
    ]
    tokens = list(values[len(special) :] if list(values[: len(special)]) == special else values)
    if odd := [token for token in tokens if not isinstance(token, str)]:
        raise SourceError(f"{where}: its vocabulary contains {odd[0]!r}, expected strings")
    if len(set(tokens)) < len(tokens):
        twice = next(token for place, token in enumerate(tokens) if token in tokens[:place])
        raise SourceError(
            f"{where}: its vocabulary contains {twice!r} twice, which Keras refuses; save the model"
            " again"
        )
    if mask is not None and mask in tokens:
        raise SourceError(
            f"{where}: its vocabulary has the mask token {mask!r} at another index than 0;"
            " save the model again"
        )
    if wrong := [
        token for token in tokens if any("\ud800" <= character <= "\udfff" for character in token)
    ]:
        raise SourceError(
            f"{where}: its vocabulary contains {wrong[0]!r}, which cannot be encoded in UTF-8"
        )
    return tokens


def read_lines(where: str, data: bytes) -> list[str]:
    """The tokens of a file, one per line, as in Keras."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{where}: its vocabulary is not valid UTF-8 ({error.reason} at byte {error.start});"
            " save the model again"
        ) from error
    while lines and not lines[-1]:
        lines.pop()
    return lines


def mask_token(config: Mapping[str, Any]) -> str | None:
    """The mask token. A TextVectorization's is the empty string."""
    mask: str | None = config.get("mask_token", "" if "standardize" in config else None)
    return mask


def refusal(layer: LayerSpec, shape: Sequence[Any]) -> str | None:
    """The reason why a layer cannot process strings of this shape exactly, or None."""
    config = layer.config
    if layer.class_name not in TAKING or not layer.own:
        return "it has strings as inputs"
    if len(layer.calls) != 1:
        return "it has strings as inputs and is called more than once"
    if config.get("invert"):
        return "it gives texts (invert=True)"
    if layer.class_name == "Hashing":
        return None
    if str(config.get("encoding", "utf-8")).lower().replace("-", "") != "utf8":
        return f"its encoding is {config['encoding']!r}, not utf-8"
    if config.get("ragged"):
        return "it gives rows of different lengths (ragged=True)"
    if layer.class_name == "StringLookup":
        return None
    if config.get("standardize") not in STANDARDIZE:
        return f"its standardize is {config['standardize']}"
    if config.get("split") not in SPLIT:
        return f"its split is {config['split']}"
    split = config.get("split") is not None
    if split and not (len(shape) == 1 or (len(shape) == 2 and shape[-1] == 1)):
        return f"it splits strings of shape {list(shape)}, expected [batch] or [batch, 1]"
    if not split and (len(shape) != 2 or not isinstance(shape[-1], int)):
        return (
            f"it reads strings without splitting them, and their shape is {list(shape)},"
            " expected [batch, count]"
        )
    return (
        None
        if split or _count(config, int(shape[-1]))
        else f"rows of {shape[-1]} texts have no ngrams of {_widths(config)}"
    )


def with_indices(
    model: ModelSpec, shapes: Mapping[str, Sequence[int | str]], batch: int
) -> tuple[ModelSpec, Mapping[str, Sequence[int | str]], list[dict[str, Any]]]:
    """The model with indices instead of strings, its input shapes, and the description of how
    strings become indices.
    """
    names = text_inputs(model)
    if not names:
        return model, shapes, []
    layers, made, texts = (
        [],
        {layer.name: [layer] for layer in model.layers if layer.name in names},
        [],
    )
    inputs: dict[str, list[tuple[str, Ref]]] = {}
    known = dict(shapes)
    taken = {layer.name for layer in model.layers} | {name for name, _ in model.inputs}
    for layer in model.layers:
        source = next(
            (ref.layer for call in layer.calls for ref in call.refs() if ref.layer in names), None
        )
        if source is None:
            layers.append(layer)
            continue
        name = names[source]
        declared = made[source][0].config["batch_shape"]
        text = list(
            shapes.get(name)
            or [batch if size is None and axis == 0 else size for axis, size in enumerate(declared)]
        )
        tensor, count = name, 1
        while source in inputs and tensor in taken:
            count += 1
            tensor = f"{name}_{count}"
        taken.add(tensor)
        entry = {
            "tensor": tensor,
            "input": name,
            "shape": text,
            **_steps(layer, text, f"{tensor}{ENDING}"),
        }
        place = Ref(source if source not in inputs else tensor)
        inputs.setdefault(source, []).append((tensor, place))
        known[tensor] = _index_shape(layer, text, entry["length"])
        made[source].append(_index_input(place.layer, len(known[tensor])))
        layers.append(_reading_indices(layer, place))
        texts.append(entry)
    rest = [
        made_one
        for layer in layers
        for made_one in (made[layer.name][1:] if layer.name in made else [layer])
    ]
    ends = [
        pair
        for name, ref in model.inputs
        for pair in (inputs.get(ref.layer, []) if ref.layer in names else [(name, ref)])
    ]
    return replace(model, layers=tuple(rest), inputs=tuple(ends)), known, texts


def _index_input(name: str, rank: int) -> LayerSpec:
    config = {"batch_shape": [None] * rank, "dtype": "int32"}
    return LayerSpec(name, "InputLayer", config, kind="input")


def _reading_indices(layer: LayerSpec, place: Ref) -> LayerSpec:
    """The layer, which reads indices from `place`."""
    hashed = {"indices": True} if layer.class_name == "Hashing" else {}
    calls = tuple(
        renamed(call, dict.fromkeys(call.refs(), place).__getitem__) for call in layer.calls
    )
    return replace(layer, config={**layer.config, **hashed}, calls=calls)


def known_words(model: ModelSpec) -> dict[str, tuple[tuple[str, ...], bool]]:
    """Sample words of the vocabulary of each string input, and whether it accepts other words."""
    found: dict[str, tuple[tuple[str, ...], bool]] = {}
    names = text_inputs(model)
    for layer in model.layers:
        for name in sorted(
            {names[ref.layer] for call in layer.calls for ref in call.refs() if ref.layer in names}
        ):
            words, free = found.get(name, ((), True))
            tokens = layer.config.get("vocabulary") or ()
            step = max(1, len(tokens) // SHOWN_WORDS)
            found[name] = (
                (*words, *tokens[::step]),
                free and int(layer.config.get("num_oov_indices", 1)) > 0,
            )
    return found


def _steps(layer: LayerSpec, shape: Sequence[int | str], placeholder: str) -> dict[str, Any]:
    """The JavaScript runtime's processing of a string."""
    config, integer = layer.config, _mode(layer.config) == "int"
    if layer.class_name in LOOKUPS and not config.get("vocabulary"):
        what = (
            "the source has no vocabulary; pass one or adapt the layer, and save the model again as"
            " .keras"
        )
        raise SourceError(f"{layer.name} ({layer.class_name}): {what}")
    if layer.class_name == "Hashing":
        mask = config.get("mask_value") if int(config["num_bins"]) > 1 else None
        others = int(config["num_bins"]) - (mask is not None)
        found: dict[str, Any] = {
            "tokens": [],
            "first": 0,
            "other": int(mask is not None),
            "others": others,
            "mask": mask,
            "masked": 0,
            "length": None,
            "empty": None,
        }
        return {
            "standardize": None,
            "split": None,
            "ngrams": None,
            **found,
            "hashed": True,
            "salt": _salt(config),
            "fill": 0,
        }
    mask = mask_token(config)
    other, others = int(mask is not None and integer), int(config.get("num_oov_indices", 1))
    vector = layer.class_name == "TextVectorization"
    length: int | str | None = None
    if vector:
        length = config.get("output_sequence_length") if integer else None
        length = length or (
            placeholder if config.get("split") is not None else _count(config, int(shape[-1]))
        )
    return {
        "standardize": config.get("standardize"),
        "split": config.get("split"),
        "ngrams": _widths(config) if vector else None,
        "tokens": list(config["vocabulary"]),
        "first": other + others,
        "other": other,
        "others": others,
        "hashed": others > 1,
        "salt": _salt(config),
        "mask": mask,
        "masked": 0 if integer else NOWHERE,
        "fill": 0 if integer else NOWHERE,
        "empty": None if integer else NOWHERE,
        "length": length,
    }


def _salt(config: Mapping[str, Any]) -> list[str] | None:
    """As strings, since JavaScript's numbers have 53 bits."""
    return None if config.get("salt") is None else [str(int(part)) for part in config["salt"]]


def _index_shape(
    layer: LayerSpec, shape: Sequence[int | str], length: int | str | None
) -> list[int | str]:
    return list(shape) if length is None else [shape[0], length]


def _mode(config: Mapping[str, Any]) -> str:
    return str(config.get("output_mode", "int"))


def _widths(config: Mapping[str, Any]) -> list[int] | None:
    widths = config.get("ngrams")
    return list(range(1, widths + 1)) if isinstance(widths, int) else widths


def _count(config: Mapping[str, Any], words: int) -> int:
    """The number of ngrams of this many words."""
    widths = _widths(config)
    return words if widths is None else sum(max(0, words - width + 1) for width in widths)

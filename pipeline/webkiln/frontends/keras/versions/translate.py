"""Translate a model config of an older Keras to Keras 3."""

from collections.abc import Iterator, Mapping
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.frontends.keras.versions import arguments, classes, functions, raw_operators
from webkiln.frontends.keras.versions.merged import begins_with_merge, functional

MAX_DEPTH = 60
KNOWN = frozenset(
    {
        *LAYERS,
        *classes.RENAMED,
        *classes.MADE,
        *functions.CLASSES,
        *("Functional", "InputLayer", "Lambda", "Model", "Sequential", raw_operators.CLASS),
    }
)
"""The classes of all versions of Keras."""
WRAPPED = ("layer", "backward_layer", "cell")
LISTED = ("cells", "layers")


def modern(entry: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A translated model or layer. `saved_class` is its previous class, if it differs.

    Old files do not tell user-defined classes from Keras's. Those that no version of Keras has get
    the registered name that tf.keras gives them, and keep their own arguments.
    """
    if depth > MAX_DEPTH:
        raise SourceError(f"models and layers nested more than {MAX_DEPTH} deep; refused")
    if not isinstance(entry.get("config"), Mapping):
        return dict(entry)
    if not configs.is_own(entry):
        return {**entry, "config": _layers_in(entry["config"], depth + 1)}
    if entry["class_name"] not in KNOWN:
        registered = f"Custom>{entry['class_name']}"
        config = _layers_in(entry["config"], depth + 1)
        return {**entry, "config": config, "registered_name": registered}
    if entry["class_name"] in functions.CLASSES:
        return functions.operation(entry)
    if entry["class_name"] == raw_operators.CLASS:
        return raw_operators.operation(entry)
    if begins_with_merge(entry):
        entry = functional(entry)
    saved, config = str(entry["class_name"]), dict(entry["config"])
    for key in (*WRAPPED, *LISTED):
        if key in config:
            config[key] = _inside(config[key], depth + 1)
    if saved == "Sequential":
        config["layers"] = _distinct(_with_input(config["layers"]))
    class_name, config = classes.modern(saved, arguments.modern(saved, config))
    return {
        **entry,
        "class_name": class_name,
        "config": {"trainable": True, **config},
        "saved_class": saved,
    }


def _inside(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        return [_inside(item, depth) for item in value]
    return modern(value, depth) if isinstance(value, Mapping) and "class_name" in value else value


def _layers_in(value: Any, depth: int) -> Any:
    """The config of a user-defined class, with the layers in it translated."""
    if depth > MAX_DEPTH:
        raise SourceError(f"models and layers nested more than {MAX_DEPTH} deep; refused")
    if isinstance(value, list):
        return [_layers_in(item, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("class_name") in KNOWN and isinstance(value.get("config"), Mapping):
        return modern(value, depth + 1)
    return {key: _layers_in(item, depth + 1) for key, item in value.items()}


def _with_input(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add an input layer to a Sequential. In Keras 1 and 2, the config of the first layer has the
    input shape.
    """
    if not layers or layers[0]["class_name"] == "InputLayer":
        return layers
    first = dict(layers[0]["config"])
    within: Mapping[str, Any] = next(
        (
            layer["config"]
            for layer in first.get("layers", ())
            if layer["class_name"] == "InputLayer"
        ),
        {},
    )
    shape, dtype = (
        first.pop("batch_input_shape", within.get("batch_input_shape")),
        first.pop("input_dtype", within.get("dtype")),
    )
    if shape is None:
        return layers
    start = {
        "class_name": "InputLayer",
        "config": {"name": "input", "batch_input_shape": shape, "dtype": dtype or "float32"},
    }
    return [start, {**layers[0], "config": first}, *layers[1:]]


def _distinct(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number models with equal names, such as those that a bare list of layers leaves without a
    name.
    """
    counts: dict[str, int] = {}
    found = []
    for layer in layers:
        name = configs.layer_name(layer)
        count = counts[name] = counts.get(name, -1) + 1
        numbered = count and "layers" in layer["config"]
        found.append(
            {**layer, "config": {**layer["config"], "name": f"{name}_{count}"}}
            if numbered
            else layer
        )
    return found


def entries(model: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All layers of a model and of its nested models, whatever contains them."""
    pending: list[Any] = [model]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            if "class_name" in item and isinstance(item.get("config"), Mapping):
                yield item
            pending += item.values()
        elif isinstance(item, list):
            pending += item

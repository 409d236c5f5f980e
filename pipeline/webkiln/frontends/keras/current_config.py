"""Configs of older versions, translated to Keras 3, as Keras 3 itself writes them."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.graph_config import shift_calls
from webkiln.frontends.keras.spec import LayerCall, Ref
from webkiln.frontends.keras.training import ENDINGS, is_for_training, without_training

PLUGIN, SUBSTITUTE = "plugin", "Substitute"
GRAPHS = frozenset({"Functional", "Model"})
LAMBDA_DETAILS = ("function_type", "module", "output_shape_module", "output_shape_type")
HARD_SIGMOID = "hard_sigmoid_2"
"""The name of Keras 2's `hard_sigmoid` in specs."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "adjustment": (None,),
    "batch_input_shape": (),
    "dynamic": (),
    "experimental_autocast": (),
    "fused": (),
    "groups": (None, 1),
    "implementation": (),
    "input_dtype": (),
    "input_length": (),
    "output_padding": (None,),
    "key_shape": (),
    "query_shape": (),
    "ragged": (None, False),
    "renorm": (),
    "renorm_clipping": (),
    "renorm_momentum": (),
    "saved_class": (),
    "sparse": (None, False),
    "time_major": (None, False),
    "value_shape": (),
    "virtual_batch_size": (None,),
    "zero_output_for_mask": (None, False),
}
"""Arguments that current classes may lack, and the values for which inference is the same without
them; an empty tuple is any value.
"""


class CurrentConfig:
    """Converts configs: layers get their modules and calls their arguments by Keras 3's classes;
    what only training needs, and neutral arguments that a class does not have, are removed.

    `known` are the user's classes by name. The layers of these names in `replaced` get substitutes
    (`substitutes.py`).
    """

    def __init__(
        self, keras: Any, known: Mapping[str, Any], replaced: Collection[str] = ()
    ) -> None:
        self.keras, self.known, self.replaced = keras, known, replaced

    def model(self, entry: Mapping[str, Any]) -> Any:
        return self._value("", entry)

    def _value(self, key: str, value: Any) -> Any:
        if is_for_training(key, value):
            return without_training(key, value)
        if key.endswith("activation") and value == "hard_sigmoid":
            return {
                "module": PLUGIN,
                "class_name": "function",
                "config": HARD_SIGMOID,
                "registered_name": HARD_SIGMOID,
            }
        if isinstance(value, list):
            return [self._value("", item) for item in value]
        if not isinstance(value, Mapping):
            return value
        class_name, config = value.get("class_name"), value.get("config")
        if isinstance(class_name, str) and isinstance(config, Mapping):
            if key == "dtype":
                return configs.clean({"dtype": value})["dtype"]
            if configs.layer_name(value) in self.replaced:
                return substitute_config(configs.layer_name(value))
            module, made = self._class(class_name)
            if module is not None:
                return self._object(value, module, made)
        return {name: self._value(name, item) for name, item in value.items()}

    def _class(self, class_name: str) -> tuple[str | None, Any]:
        """The module and the class or function of a name; None if it is unknown."""
        name = class_name.rpartition(">")[2]
        if name in self.known:
            return PLUGIN, self.known[name]
        if name in GRAPHS:
            return "keras.src.models.functional", None
        if name == "Sequential":
            return "keras", None
        made = getattr(self.keras.layers, name, None)
        return ("keras.layers", made) if made else (None, None)

    def _object(self, entry: Mapping[str, Any], module: str, made: Any) -> dict[str, Any]:
        class_name, own = str(entry["class_name"]).rpartition(">")[2], module != PLUGIN
        config = {
            key: value
            for key, value in entry["config"].items()
            if not (own and key.endswith(ENDINGS)) and key != "compile_config"
        }
        if class_name in GRAPHS and own and "input_layers" in config:
            config |= self._graph(config)
            class_name = "Functional"
        else:
            config = {key: self._value(key, value) for key, value in config.items()}
        if inspect.isclass(made):
            names = _parameters(made)
            config = {
                key: value
                for key, value in config.items()
                if key in names
                or not (
                    key.endswith(ENDINGS)
                    or (key in NEUTRAL and (not NEUTRAL[key] or value in NEUTRAL[key]))
                )
            }
            axis = config.get("axis")
            if issubclass(made, self.keras.layers.BatchNormalization) and isinstance(axis, list):
                config["axis"] = axis[0]
        if class_name == "InputLayer" and "batch_input_shape" in entry["config"]:
            config["batch_shape"] = entry["config"]["batch_input_shape"]
        if class_name == "Lambda":
            config = _lambda(config)
        return {
            "module": module,
            "class_name": class_name,
            "config": config,
            "registered_name": None if own else class_name,
            "name": configs.layer_name(entry),
        }

    def _graph(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The layers, inputs and outputs of a model. Keras 2 counts the creation of a nested model
        as its first call, Keras 3 does so in the outputs of a model only.
        """
        entries = config["layers"]
        calls = [configs.read_calls(entry.get("inbound_nodes", [])) for entry in entries]
        outputs = [ref for _, ref in configs.named_refs(config["output_layers"])]
        latest: dict[str, int] = {}
        for ref in (*(ref for own in calls for call in own for ref in call.refs()), *outputs):
            latest[ref.layer] = max(latest.get(ref.layer, 0), ref.call)
        offsets = {
            configs.layer_name(entry): max(
                0, latest.get(configs.layer_name(entry), 0) - len(own) + 1
            )
            for entry, own in zip(entries, calls, strict=True)
            if "layers" in entry["config"]
        }
        created = {configs.layer_name(entry) for entry in entries if entry["class_name"] in GRAPHS}
        layers = []
        for entry, own in zip(entries, calls, strict=True):
            shifted = [shift_calls(call, offsets) for call in own]
            if configs.layer_name(entry) in self.replaced:
                shifted = [
                    LayerCall((call.refs(),), {"number": number})
                    for number, call in enumerate(shifted)
                ]
            layers.append(
                {**self._value("", entry), "inbound_nodes": [_node(call) for call in shifted]}
            )
        return {
            "layers": layers,
            "output_layers": _ends(config["output_layers"], offsets, created),
        }


def substitute_config(name: str) -> dict[str, Any]:
    """The config of a layer in place of one that Keras cannot load."""
    return {
        "module": PLUGIN,
        "class_name": SUBSTITUTE,
        "config": {"name": name},
        "registered_name": SUBSTITUTE,
        "name": name,
    }


def _node(call: LayerCall) -> dict[str, Any]:
    return {
        "args": [_argument(value) for value in call.args],
        "kwargs": {key: _argument(value) for key, value in call.kwargs.items()},
    }


def _argument(value: Any) -> Any:
    if isinstance(value, Ref):
        history = [value.layer, value.call, value.index]
        config = {"shape": [], "dtype": "float32", "keras_history": history}
        return {"class_name": "__keras_tensor__", "config": config}
    if isinstance(value, list | tuple):
        return [_argument(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _argument(item) for key, item in value.items()}
    return value


def _ends(value: Any, offsets: Mapping[str, int], created: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _ends(item, offsets, created) for key, item in value.items()}
    if isinstance(value, Sequence) and len(value) == 3 and isinstance(value[0], str):
        name, call, index = value
        return [name, call - offsets.get(name, 0) + (name in created), index]
    return [_ends(item, offsets, created) for item in value]


def _lambda(config: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: value for key, value in config.items() if key not in LAMBDA_DETAILS}
    if isinstance(stored := result.get("function"), list) and len(stored) == 3:
        names = ("code", "defaults", "closure")
        code = {"class_name": "__lambda__", "config": dict(zip(names, stored, strict=True))}
        result["function"] = code
    return result


def _parameters(made: type) -> set[str]:
    """The arguments of a class, including those that it passes on to its bases."""
    names: set[str] = set()
    for part in made.__mro__:
        if "__init__" not in vars(part) or part is object:
            continue
        parameters = inspect.signature(vars(part)["__init__"]).parameters
        names |= parameters.keys()
        if not any(item.kind is item.VAR_KEYWORD for item in parameters.values()):
            break
    return names

"""Loads a model file: as data where every class is Keras's own, through Keras where a class of the user's has to be traced."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError, ToolError, UnsupportedError, WebkilnError
from webkiln.frontends.keras.archive import open_source, reading
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.facts import ModelFacts
from webkiln.frontends.keras.plugins import import_files
from webkiln.frontends.keras.reader import Blobs, read_model
from webkiln.frontends.keras.supported import find_unsupported

NO_HANDLER = "no handler"
UNKNOWN = "unknown class, which is never imported"
LAMBDA = "a Lambda layer is Python code inside the model file and is not executed"
LAMBDA_HINT = "Replace it by keras.ops operations, or pass --trust-source if you trust the file"


def load_model(path: Path, plugins: Sequence[Path] = (), *, trust_source: bool = False) -> tuple[ModelFacts, Blobs]:
    """The facts and weight blobs of a model file.

    `plugins` are Python files of the user that register Keras classes or handlers. Without `trust_source` no class, function or bytecode
    that the file names is executed unless a plugin registered it; UnsupportedError lists them.
    """
    import_files(plugins)
    model, blobs = read_model(path)
    unsupported = find_unsupported(model, KerasConverter.is_handled)
    if not unsupported:
        return model, blobs
    try:
        import keras
    except ImportError:
        what = "\n".join(f"  {where}: {what}" for where, what, _ in unsupported)
        raise ToolError(f"{path.name}: these layers have to be traced, which needs keras (pip install keras tensorflow-cpu):\n{what}") from None
    from webkiln.frontends.keras.memory import model_facts

    if not trust_source:
        with open_source(path) as source, reading(path):
            refused = list(_refused(source.config, keras))
        if refused:
            known = {where for where, _, _ in refused}
            others = [item for item in unsupported if item[0].split("/")[-1] not in known and item[1] != NO_HANDLER]
            raise UnsupportedError(path.name, [*refused, *others])
    model, blobs = model_facts(load_with_keras(path, trust_source=trust_source), handled=KerasConverter.is_handled)
    unsupported = find_unsupported(model, KerasConverter.is_handled)
    if unsupported:
        raise UnsupportedError(path.name, unsupported)
    return model, blobs


def load_with_keras(path: Path, *, trust_source: bool = False) -> Any:
    """The model as Keras loads it, with names that do not depend on what was loaded before; SourceError where Keras cannot."""
    import keras

    keras.utils.clear_session(free_memory=False)
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=not trust_source)
    except WebkilnError:
        raise
    except Exception as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        older = "; a Lambda layer only loads on the Python version that wrote it" if trust_source else ""
        raise SourceError(f"{path.name}: Keras cannot load it: {what}{older}") from error


def _refused(config: Any, keras: Any, layer: str = "") -> Iterator[tuple[str, str, str]]:
    """(where, what, hint) of every class and function in a config that Keras would import or execute."""
    if isinstance(config, list):
        for item in config:
            yield from _refused(item, keras, layer)
    if not isinstance(config, Mapping):
        return
    class_name = config.get("class_name")
    inner = config.get("config")
    if isinstance(class_name, str):
        name = inner.get("name") if isinstance(inner, Mapping) else None
        where = f"{name} ({class_name})" if isinstance(name, str) else layer
        if class_name == "Lambda":
            yield where, LAMBDA, LAMBDA_HINT
            return
        if class_name == "__lambda__" or not _is_known(config, keras, is_layer=isinstance(name, str)):
            what = inner if class_name == "function" else class_name
            yield where, UNKNOWN if what in where else f"{what} is not of Keras and never imported", f"Pass --plugin FILE.py that registers {what!r}"
            return
        layer = where
    for value in config.values():
        yield from _refused(value, keras, layer)


def _is_known(config: Mapping[str, Any], keras: Any, *, is_layer: bool) -> bool:
    registered = (config.get("registered_name"), config["class_name"], config["config"] if isinstance(config.get("config"), str) else None)
    if any(isinstance(name, str) and keras.saving.get_registered_object(name) is not None for name in registered):
        return True
    module = config.get("module")
    if module is None:
        return not is_layer or any(hasattr(place, config["class_name"]) for place in (keras.layers, keras.models, keras.ops))
    return str(module).split(".")[0] == "keras"

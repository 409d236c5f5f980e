"""Load a model file: as data if all classes are Keras's; through Keras if a user-defined class must
be traced.
"""

import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln.errors import Item, SourceError, UnsupportedError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.keras.archive import open_source, read_config, reading
from webkiln.frontends.keras.framework import first_sentence, import_keras
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.frontends.keras.layers.retired import RETIRED
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.reader import read_structure
from webkiln.frontends.keras.spec import ModelSpec
from webkiln.frontends.keras.supported import (
    LAMBDA,
    LAMBDA_HINT,
    NO_HANDLER,
    UNKNOWN,
    find_unsupported,
    may_be_traced,
)
from webkiln.frontends.keras.versions.classes import MADE, RENAMED
from webkiln.frontends.keras.versions.functions import CLASSES
from webkiln.frontends.keras.versions.tfjs import is_json
from webkiln.plugins import import_files

SEPARATE = "a user-defined class in a model with separate weights"
SEPARATE_HINT = "Load both in Keras and save the model as one file: model.save('model.keras')"
GONE = frozenset({*RENAMED, *MADE, *CLASSES, *RETIRED})
"""Classes of older versions that are read here although Keras no longer has them."""
NO_REFERENCE = "Keras 3 does not load it, so there are no reference outputs to verify it against"
FUNCTION_PACKAGES = frozenset(
    {"activations", "ops", "initializers", "regularizers", "constraints", "losses", "metrics"}
)
"""Modules of Keras functions that compute. Others download, write files or change settings, and a
layer would call them.
"""


def load_model(
    path: Path,
    plugins: Sequence[Path] = (),
    *,
    trust_source: bool = False,
    cut: Subgraph = ENTIRE_MODEL,
    companion: Path | None = None,
) -> tuple[ModelSpec, Blobs]:
    """The spec and weight blobs of a model file or a subgraph of it. The weights may be in a
    `companion`: a file, or a folder of shards.

    `plugins` are Python files that register Keras classes or handlers. Without `trust_source`, no
    class, function or bytecode named in the file is executed, unless a plugin registered it;
    UnsupportedError lists them.
    """
    import_files(plugins)
    structure = read_structure(path, cut) if companion is None else None
    if structure is not None:
        hopeless = find_unsupported(
            structure,
            HANDLERS.handles,
            lambda layer: may_be_traced(layer) or trust_source or _is_registered(layer.class_name),
        )
        if hopeless:
            report_unsupported(path.name, _with_nested(path, hopeless))
            return structure, {}
    model, blobs = read_model(path, cut, companion=companion)
    apart = companion is not None or is_json(path)
    unsupported = find_unsupported(model, HANDLERS.handles)
    if not unsupported and not any(_is_registered(name) for name in _foreign_classes(model)):
        return model, blobs
    if apart:
        raise UnsupportedError(
            path.name,
            unsupported or [(name, SEPARATE, SEPARATE_HINT) for name in _foreign_classes(model)],
        )
    return read_memory(
        load_with_keras(path, trust_source=trust_source, unsupported=unsupported), path.name, cut
    )


def read_memory(model: Any, name: str, cut: Subgraph = ENTIRE_MODEL) -> tuple[ModelSpec, Blobs]:
    """The spec and weight blobs of a model in memory, or of a subgraph of it. Messages call it
    `name`.
    """
    from webkiln.frontends.keras.in_memory import describe_model

    spec, blobs = describe_model(model, handled=HANDLERS.handles, cut=cut)
    unsupported = find_unsupported(spec, HANDLERS.handles)
    if unsupported:
        raise UnsupportedError(name, unsupported)
    return spec, blobs


def load_with_keras(
    path: Path, *, trust_source: bool = False, unsupported: Sequence[Item] = ()
) -> Any:
    """Load the model through Keras, with names that do not depend on previously loaded models.

    Without `trust_source`, raises UnsupportedError, which lists everything that would be imported
    or executed, and the other `unsupported` parts. Raises SourceError if Keras cannot load the
    file.
    """
    keras = import_keras(
        f"{path.name}: "
        + (
            "; ".join(f"{where}: {what}" for where, what, _ in unsupported)
            or "its outputs are needed"
        )
    )
    if not trust_source:
        with open_source(path) as source, reading(path):
            refused = list(_refused(source.config, keras))
        if refused:
            known = {where for where, _, _ in refused}
            others = [
                item
                for item in unsupported
                if item[0].split("/")[-1] not in known and item[1] != NO_HANDLER
            ]
            raise UnsupportedError(path.name, [*refused, *others])
    keras.utils.clear_session(free_memory=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            named = Path(folder) / ("model.keras" if zipfile.is_zipfile(path) else "model.h5")
            named.symlink_to(path.resolve())
            return keras.saving.load_model(
                named, custom_objects=_by_class(keras), compile=False, safe_mode=not trust_source
            )
    except Exception as error:
        unknown = [item for item in _with_nested(path, ()) if item[1] == UNKNOWN]
        if unknown:
            raise UnsupportedError(path.name, unknown) from error
        older = (
            "; a Lambda layer only loads on the Python version that wrote it"
            if trust_source
            else ""
        )
        raise SourceError(
            f"{path.name}: Keras cannot load it: {first_sentence(error)}{older}"
        ) from error


def _with_nested(path: Path, items: Sequence[Item]) -> list[Item]:
    """The items, and the classes that only the config of another layer names."""
    if (read := read_config(path)) is not None:
        config = read[0]
    else:
        with open_source(path) as source:
            config = source.config
    with reading(path):
        nested = list(_refused(config, sys.modules.get("keras")))
    known = {where.rpartition("/")[2] for where, _, _ in items}
    return [
        *items,
        *(item for item in dict.fromkeys(nested) if item[1] == UNKNOWN and item[0] not in known),
    ]


def _by_class(keras: Any) -> dict[str, Any]:
    """Registered objects by class name alone, as in files that were saved without registration."""
    return {
        name.rpartition(">")[-1]: made for name, made in keras.saving.get_custom_objects().items()
    }


def _foreign_classes(model: ModelSpec) -> Iterator[str]:
    for layer in model.layers:
        if not layer.own:
            yield layer.class_name
        if layer.model is not None:
            yield from _foreign_classes(layer.model)


def _is_registered(class_name: str) -> bool:
    keras = sys.modules.get("keras")
    if keras is None:
        return False
    return class_name.rpartition(">")[-1] in {
        name.rpartition(">")[-1] for name in keras.saving.get_custom_objects()
    }


def _refused(config: Any, keras: Any, layer: str = "") -> Iterator[tuple[str, str, str]]:
    """(where, what, hint) for every class and function in a config that Keras would import or
    execute.
    """
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
        if class_name == "__lambda__" or not _is_known(
            config, keras, is_layer=isinstance(name, str)
        ):
            culprit = str(inner if class_name == "function" else class_name)
            if culprit in GONE:
                yield (
                    where,
                    NO_REFERENCE,
                    (
                        "Build it (webkiln build), or load it in the program that wrote it, and"
                        " save it as .keras"
                    ),
                )
                return
            what = (
                UNKNOWN
                if culprit in where
                else f"{culprit} is not a computation of Keras and never imported"
            )
            yield where, what, f"Pass --plugin FILE.py that registers {culprit!r}"
        layer = where
    for value in config.values():
        yield from _refused(value, keras, layer)


def _is_known(config: Mapping[str, Any], keras: Any, *, is_layer: bool) -> bool:
    if config["class_name"] == "function":
        name = config.get("config")
    else:
        name = (
            config["class_name"] if config.get("module") is None else config.get("registered_name")
        )
    if (
        keras is not None
        and isinstance(name, str)
        and name in {*keras.saving.get_custom_objects(), *_by_class(keras)}
    ):
        return True
    module = config.get("module")
    if module is None:
        places = (keras.layers, keras.models, keras.ops) if keras is not None else ()
        own = (
            not places
            or config["class_name"] == "Functional"
            or any(hasattr(place, config["class_name"]) for place in places)
        )
        return own or not is_layer
    root, *inner = str(module).split(".")
    package = next((part for part in inner if part != "src"), "")
    return root == "keras" and (config["class_name"] != "function" or package in FUNCTION_PACKAGES)

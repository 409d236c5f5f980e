"""Load a model file: as data if all classes are Keras's; through Keras if a user-defined class must
be traced.
"""

import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln.errors import Item, SourceError, UnsupportedError, WebkilnError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.keras.archive import read_config, reading
from webkiln.frontends.keras.config import is_old
from webkiln.frontends.keras.current_config import SUBSTITUTE
from webkiln.frontends.keras.executed import GONE, NO_REFERENCE, by_class, lambdas_in, refused
from webkiln.frontends.keras.framework import first_sentence, import_keras
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.frontends.keras.policies import CALIBRATED_MODES, policy_of
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.reader import read_structure
from webkiln.frontends.keras.spec import FUNCTION, LayerSpec, ModelSpec
from webkiln.frontends.keras.supported import (
    LAMBDA,
    NO_HANDLER,
    UNKNOWN,
    find_unsupported,
    may_be_traced,
)
from webkiln.frontends.keras.training import stand_ins
from webkiln.frontends.keras.versions.files import open_model
from webkiln.frontends.keras.versions.tfjs import is_json
from webkiln.plugins import import_files

SEPARATE = "a user-defined class in a model with separate weights"
SEPARATE_HINT = "Load both in Keras and save the model as one file: model.save('model.keras')"


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
    if structure is not None and _is_hopeless(path, structure, trust_source=trust_source):
        return structure, {}
    model, blobs = read_model(path, cut, companion=companion)
    apart = companion is not None or is_json(path)
    if structure is None and not apart and _is_hopeless(path, model, trust_source=trust_source):
        return model, {}
    unsupported = find_unsupported(model, HANDLERS.handles)
    if not unsupported and not any(_is_registered(name) for name in _foreign_classes(model)):
        return model, blobs
    if apart:
        raise UnsupportedError(
            path.name,
            unsupported or [(name, SEPARATE, SEPARATE_HINT) for name in _foreign_classes(model)],
        )
    classes = sorted({name for name in _foreign_classes(model) if _is_registered(name)})
    whole, stored = read_model(path) if cut else (model, blobs)
    made = load_with_keras(
        path,
        trust_source=trust_source,
        unsupported=unsupported,
        traced=tuple(classes),
        model=whole,
    )
    spec, traced = read_memory(made, path.name, cut)
    used = {weight.digest for layer in spec.layers for weight in layer.weights.values()}
    return spec, {**{name: blob for name, blob in stored.items() if name in used}, **traced}


def _is_hopeless(path: Path, model: ModelSpec, *, trust_source: bool) -> bool:
    """Report what cannot be converted even if Keras is imported to trace it, before it is."""
    hopeless = find_unsupported(
        model,
        HANDLERS.handles,
        lambda layer: may_be_traced(layer) or trust_source or _is_registered(layer.class_name),
    )
    if hopeless:
        report_unsupported(path.name, _with_nested(path, hopeless))
    return bool(hopeless)


def read_memory(model: Any, name: str, cut: Subgraph = ENTIRE_MODEL) -> tuple[ModelSpec, Blobs]:
    """The spec and weight blobs of a model in memory, or of a subgraph of it. Messages call it
    `name`.
    """
    from webkiln.frontends.keras.in_memory import describe_model

    spec, blobs = describe_model(model, handled=HANDLERS.handles_in_memory, cut=cut)
    unsupported = find_unsupported(spec, HANDLERS.handles)
    if unsupported:
        raise UnsupportedError(name, unsupported)
    return spec, blobs


def load_with_keras(
    path: Path,
    *,
    trust_source: bool = False,
    unsupported: Sequence[Item] = (),
    traced: Sequence[str] = (),
    model: ModelSpec | None = None,
) -> Any:
    """Load the model through Keras, with names that do not depend on previously loaded models.

    Without `trust_source`, raises UnsupportedError, which lists everything that would be imported
    or executed, and the other `unsupported` parts. `traced` are the classes for which the model is
    loaded; layers of its spec `model` that Keras does not load get substitutes, which cannot be
    called. Raises SourceError if Keras cannot load the file.
    """
    keras = import_keras(
        f"{path.name}: "
        + (
            "; ".join(f"{where}: {what}" for where, what, _ in unsupported)
            or "its outputs are needed"
        )
    )
    replaced: dict[str, LayerSpec] = {} if model is None else dict(_replaceable(model))
    if not trust_source:
        with open_model(path) as source, reading(path):
            found = [
                item
                for item in refused(_uncompiled(source.config), keras)
                if item[0].rpartition(" (")[0] not in replaced
            ]
        if found:
            if traced:
                found = [_beside(item, traced) for item in found]
            known = {where for where, _, _ in found}
            others = [
                item
                for item in unsupported
                if item[0].split("/")[-1] not in known and item[1] != NO_HANDLER
            ]
            raise UnsupportedError(path.name, [*found, *others])
    keras.utils.clear_session(free_memory=False)
    try:
        return _loaded(keras, path, model, replaced, trust_source=trust_source)
    except WebkilnError:
        raise
    except Exception as error:
        unknown = [item for item in _with_nested(path, ()) if item[1] == UNKNOWN]
        if unknown:
            raise UnsupportedError(path.name, unknown) from error
        if trust_source and (lambdas := lambdas_in(_config_of(path))):
            what = f"this Python cannot load its code ({first_sentence(error)})"
            items = [(where, what, hint) for where, _, hint in lambdas]
            raise UnsupportedError(path.name, items) from error
        raise SourceError(
            f"{path.name}: Keras cannot load it: {first_sentence(error)}{_unsaved(model)}"
        ) from error


def _unsaved(model: ModelSpec | None) -> str:
    """Advice for models whose file lacks weights."""
    layers = [] if model is None else list(_all_layers(model))
    modes = {policy_of(layer).quantized for layer in layers if layer.own} & CALIBRATED_MODES
    if not modes:
        return ""
    return (
        f". Keras 3.15 does not save the zero points of quantize('{min(modes)}'): build a function"
        " that quantizes the model and returns it (webkiln build package.module:function)"
    )


def _beside(item: Item, traced: Sequence[str]) -> Item:
    """What prevents Keras from loading a model whose classes are to be traced."""
    where, what, hint = item
    if what not in (NO_REFERENCE, LAMBDA):
        return item
    names = ", ".join(traced)
    why = f"Keras cannot load it, which would be needed to trace {names}"
    instead = f"Register handlers for {names} in place of classes: KerasConverter.register_handler"
    return (
        where,
        why if what == NO_REFERENCE else f"{what}; {why}",
        (instead if what == NO_REFERENCE else f"{instead}; or {hint[0].lower()}{hint[1:]}"),
    )


def _replaceable(model: ModelSpec) -> Iterator[tuple[str, LayerSpec]]:
    """The layers that Keras does not load and that convert, by names that only they have."""
    layers = list(_all_layers(model))
    counts = Counter(layer.name for layer in layers)
    for layer in layers:
        alone = ModelSpec(layer.name, (layer,), (), ())
        if (
            counts[layer.name] == 1
            and (layer.class_name in {*GONE, "Lambda"} or layer.class_name.startswith(FUNCTION))
            and not find_unsupported(alone, HANDLERS.handles)
        ):
            yield layer.name, layer


def _all_layers(model: ModelSpec) -> Iterator[LayerSpec]:
    for layer in model.layers:
        yield layer
        if layer.model is not None and not layer.traced:
            yield from _all_layers(layer.model)


def _loaded(
    keras: Any,
    path: Path,
    model: ModelSpec | None,
    replaced: Mapping[str, LayerSpec],
    *,
    trust_source: bool,
) -> Any:
    """The model of a file. HDF5 files of older versions are translated, others loaded by Keras."""
    failure: Exception | None = None
    substitute: Any = None
    if model is not None and replaced:
        from webkiln.frontends.keras.substitutes import copy_with_config, substitute_class

        substitute = substitute_class(model, replaced)
    with open_model(path) as source:
        if is_old(source.version) and not source.paths:
            from webkiln.frontends.keras.revived import revived

            try:
                return revived(
                    keras,
                    source,
                    trust_source=trust_source,
                    substitute=substitute,
                    replaced=replaced,
                )
            except Exception as error:  # noqa: BLE001 - `open_model` would blame the file for it
                failure = error
        neutral = stand_ins(keras, source.config)
    if failure is not None:
        raise failure
    with tempfile.TemporaryDirectory() as folder:
        named = Path(folder) / ("model.keras" if zipfile.is_zipfile(path) else "model.h5")
        if replaced:
            copy_with_config(path, named, replaced)
        else:
            named.symlink_to(path.resolve())
        return keras.saving.load_model(
            named,
            custom_objects={**neutral, SUBSTITUTE: substitute, **by_class(keras)},
            compile=False,
            safe_mode=not trust_source,
        )


def _uncompiled(config: dict[str, Any]) -> dict[str, Any]:
    """A model's config without what `compile` saved, which Keras does not read here."""
    return {key: value for key, value in config.items() if key != "compile_config"}


def _config_of(path: Path) -> dict[str, Any]:
    if (read := read_config(path)) is not None:
        return read[0]
    with open_model(path) as source:
        return source.config


def _with_nested(path: Path, items: Sequence[Item]) -> list[Item]:
    """The items, and the classes that only the config of another layer names."""
    with reading(path):
        nested = list(refused(_uncompiled(_config_of(path)), sys.modules.get("keras")))
    known = {where.rpartition("/")[2] for where, _, _ in items}
    return [
        *items,
        *(item for item in dict.fromkeys(nested) if item[1] == UNKNOWN and item[0] not in known),
    ]


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

"""A replacement for `chainer.serializers`: load snapshots of models, optimizers or trainers into
links.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.link import Link
from webkiln.frontends.chainer.snapshot import Snapshot, opened
from webkiln.frontends.chainer.variable import Parameter
from webkiln.frontends.core.stored_weight import StoredWeight

TRAINER = (
    "",
    "updater/model:main/",
    "updater/model:main/predictor/",
    "predictor/",
    "model/",
    "target/",
)
"""Paths of the model in snapshots of trainers, updaters and classifiers, the most likely first."""


def load(path: Path, model: Link, where: str) -> None:
    """The weights in a snapshot of the model, of an object that contains it, or of a trainer."""
    with opened(path) as snapshot:
        params, values = parameter_paths(model)
        prefix = find_prefix(
            snapshot,
            [
                *params,
                *(path for path, (link, name) in values.items() if is_array(getattr(link, name))),
            ],
            where,
        )
        fill(snapshot, prefix, model, where, strict=True)


def is_array(value: Any) -> bool:
    return value is None or isinstance(value, np.ndarray)


def parameter_paths(model: Link) -> tuple[dict[str, Parameter], dict[str, tuple[Link, str]]]:
    """The parameters and persistent values of a model, by key path."""
    params = {path.lstrip("/"): param for path, param in model.namedparams()}
    return params, {path.lstrip("/"): (link, name) for path, link, name in model.named_persistent()}


def find_prefix(snapshot: Snapshot, paths: list[str], where: str) -> str:
    """The prefix of the model's key paths. Raises SourceError if some are missing, or if several
    prefixes match.
    """
    if not paths:
        return ""
    keys = {*snapshot.arrays, *snapshot.empty}
    last = max(paths, key=len)
    prefixes = {key.removesuffix(last) for key in keys if key == last or key.endswith(f"/{last}")}
    matching = [
        prefix for prefix in sorted(prefixes) if all(prefix + path in keys for path in paths)
    ]
    likely = [prefix for prefix in TRAINER if prefix in matching]
    if likely or len(matching) == 1:
        return (likely or matching)[0]
    if matching:
        raise SourceError(
            f"{snapshot.name}: has the weights of {where} in several places, {', '.join(matching)};"
            " load them in the function, with chainer.serializers.load_npz(file, model,"
            f" path={matching[0]!r})"
        )
    best = max([*prefixes, ""], key=lambda prefix: sum(prefix + path in keys for path in paths))
    missing = [path for path in paths if best + path not in keys]
    spare = sorted(key for key in snapshot.arrays if key.removeprefix(best) not in paths)
    hint = f"; it has {', '.join(spare[:3])}, which the model has not" if spare else ""
    raise SourceError(
        f"{snapshot.name}: lacks {len(missing)} of the {len(paths)} weights of {where}, such as"
        f" {missing[0]}{hint}"
    )


def fill(
    snapshot: Snapshot, prefix: str, model: Link, where: str, *, strict: bool, ignored: Any = ()
) -> None:
    skip = [ignored] if isinstance(ignored, str) else list(ignored or ())

    def stored(path: str) -> StoredWeight | None:
        if any(rule(path) if callable(rule) else path == rule for rule in skip):
            return None
        item = snapshot.arrays.get(prefix + path)
        if item is None and strict and prefix + path not in snapshot.empty:
            raise SourceError(f"{snapshot.name}: lacks {prefix}{path}, which {where} needs")
        return item

    params, values = parameter_paths(model)
    for path, param in params.items():
        if (item := stored(path)) is not None:
            _check_shape(
                snapshot, prefix + path, item, param.shape if param.is_initialized else None, where
            )
            param.array = item.read().astype(param.dtype, copy=False)
    for path, (link, name) in values.items():
        current = getattr(link, name)
        item = snapshot.arrays.get(prefix + path)
        if item is None and is_array(current) and current is not None:
            stored(path)
        elif item is not None:
            is_number = isinstance(current, int | float)
            _check_shape(
                snapshot,
                prefix + path,
                item,
                () if is_number else getattr(current, "shape", None),
                where,
            )
            value = item.read()
            setattr(
                link,
                name,
                (
                    type(current)(value)
                    if is_number
                    else value.astype(getattr(current, "dtype", value.dtype))
                ),
            )


def _check_shape(snapshot: Snapshot, key: str, item: StoredWeight, shape: Any, where: str) -> None:
    if shape is not None and tuple(shape) != item.shape:
        raise SourceError(
            f"{snapshot.name}: {key} is {list(item.shape)}, {where} expects {list(shape)}"
        )


def load_npz(
    file: Any, obj: Any, path: str = "", strict: bool = True, ignore_names: Any = None
) -> None:
    """chainer.serializers.load_npz and load_hdf5, for functions that load weights themselves."""
    if not isinstance(obj, Link):
        raise SourceError(
            "load_npz: only links are loaded here, got"
            f" {type(obj).__name__}; omit optimizers and trainers"
        )
    if hasattr(file, "read"):
        raise SourceError("load_npz: pass the path of the snapshot, not an open file")
    with opened(Path(file)) as snapshot:
        prefix = f"{path.strip('/')}/" if path.strip("/") else ""
        fill(snapshot, prefix, obj, type(obj).__name__, strict=strict, ignored=ignore_names)


def refused(what: str) -> Any:
    def refuse(*args: Any, **options: Any) -> Any:
        raise SourceError(
            f"chainer.serializers.{what} is not run: the function only builds a model"
        )

    return refuse


NAMES: Mapping[str, Any] = {
    "load_npz": load_npz,
    "load_hdf5": load_npz,
    "save_npz": refused("save_npz"),
    "save_hdf5": refused("save_hdf5"),
}

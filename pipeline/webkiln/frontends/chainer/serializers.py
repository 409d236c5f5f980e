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
from webkiln.frontends.keras.versions.lazy_weight import StoredWeight

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
        params, values = own_paths(model)
        prefix = found_prefix(
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


def own_paths(model: Link) -> tuple[dict[str, Parameter], dict[str, tuple[Link, str]]]:
    """The parameters and persistent values of a model, by key path."""
    params = {path.lstrip("/"): found for path, found in model.namedparams()}
    return params, {path.lstrip("/"): (link, name) for path, link, name in model.named_persistent()}


def found_prefix(snapshot: Snapshot, own: list[str], where: str) -> str:
    """The prefix of the model's key paths. Raises SourceError if some are missing, or if several
    prefixes match.
    """
    if not own:
        return ""
    keys = {*snapshot.arrays, *snapshot.empty}
    last = max(own, key=len)
    prefixes = {key.removesuffix(last) for key in keys if key == last or key.endswith(f"/{last}")}
    whole = [prefix for prefix in sorted(prefixes) if all(prefix + path in keys for path in own)]
    likely = [prefix for prefix in TRAINER if prefix in whole]
    if likely or len(whole) == 1:
        return (likely or whole)[0]
    if whole:
        raise SourceError(
            f"{snapshot.name}: has the weights of {where} in several places, {', '.join(whole)};"
            " load them in the function, with chainer.serializers.load_npz(file, model,"
            f" path={whole[0]!r})"
        )
    best = max([*prefixes, ""], key=lambda prefix: sum(prefix + path in keys for path in own))
    missing = [path for path in own if best + path not in keys]
    spare = sorted(key for key in snapshot.arrays if key.removeprefix(best) not in own)
    hint = f"; it has {', '.join(spare[:3])}, which the model has not" if spare else ""
    raise SourceError(
        f"{snapshot.name}: lacks {len(missing)} of the {len(own)} weights of {where}, such as"
        f" {missing[0]}{hint}"
    )


def fill(
    snapshot: Snapshot, prefix: str, model: Link, where: str, *, strict: bool, ignored: Any = ()
) -> None:
    skip = [ignored] if isinstance(ignored, str) else list(ignored or ())

    def held(path: str) -> StoredWeight | None:
        if any(rule(path) if callable(rule) else path == rule for rule in skip):
            return None
        found = snapshot.arrays.get(prefix + path)
        if found is None and strict and prefix + path not in snapshot.empty:
            raise SourceError(f"{snapshot.name}: lacks {prefix}{path}, which {where} needs")
        return found

    params, values = own_paths(model)
    for path, param in params.items():
        if (found := held(path)) is not None:
            _check_shape(
                snapshot, prefix + path, found, param.shape if param.is_initialized else None, where
            )
            param.array = found.read().astype(param.dtype, copy=False)
    for path, (link, name) in values.items():
        current = getattr(link, name)
        found = snapshot.arrays.get(prefix + path)
        if found is None and is_array(current) and current is not None:
            held(path)
        elif found is not None:
            is_number = isinstance(current, int | float)
            _check_shape(
                snapshot,
                prefix + path,
                found,
                () if is_number else getattr(current, "shape", None),
                where,
            )
            value = found.read()
            setattr(
                link,
                name,
                (
                    type(current)(value)
                    if is_number
                    else value.astype(getattr(current, "dtype", value.dtype))
                ),
            )


def _check_shape(snapshot: Snapshot, key: str, found: StoredWeight, shape: Any, where: str) -> None:
    if shape is not None and tuple(shape) != found.shape:
        raise SourceError(
            f"{snapshot.name}: {key} is {list(found.shape)}, {where} has {list(shape)} there"
        )


def load_npz(
    file: Any, obj: Any, path: str = "", strict: bool = True, ignore_names: Any = None
) -> None:
    """chainer.serializers.load_npz and load_hdf5, for functions that load weights themselves."""
    if not isinstance(obj, Link):
        raise SourceError(
            f"load_npz: only links are loaded here, got {type(obj).__name__}; leave optimizers and"
            " trainers out"
        )
    if hasattr(file, "read"):
        raise SourceError("load_npz: give the path of the snapshot, not an open file")
    with opened(Path(file)) as snapshot:
        prefix = f"{path.strip('/')}/" if path.strip("/") else ""
        fill(snapshot, prefix, obj, type(obj).__name__, strict=strict, ignored=ignore_names)


def refused(what: str) -> Any:
    def refuse(*given: Any, **options: Any) -> Any:
        raise SourceError(f"chainer.serializers.{what} is not run: the function only makes a model")

    return refuse


NAMES: Mapping[str, Any] = {
    "load_npz": load_npz,
    "load_hdf5": load_npz,
    "save_npz": refused("save_npz"),
    "save_hdf5": refused("save_hdf5"),
}

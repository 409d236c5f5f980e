"""What a config holds for training only: Keras needs no user-defined code for it."""

from collections.abc import Iterator, Mapping
from typing import Any

ENDINGS = ("initializer", "regularizer", "constraint")


def is_for_training(key: Any, value: Any) -> bool:
    """Whether an entry of a config is an initialiser, a regulariser or a constraint that Keras can
    do without: named, or an object of a class or function that is not one of Keras.
    """
    if not isinstance(key, str) or not key.endswith(ENDINGS):
        return False
    return value is None or isinstance(value, str) or bool(_spellings(value))


def without_training(key: str, value: Any) -> Any:
    """A value of Keras in place of an initialiser, a regulariser or a constraint."""
    if value is None or not key.endswith("initializer"):
        return None
    return "zeros" if isinstance(value, str) else {"class_name": "Zeros", "config": {}}


def stand_ins(keras: Any, config: Any) -> dict[str, Any]:
    """Objects for the names of user-defined initialisers, regularisers and constraints in a config.
    All weights are loaded, so what these compute does not matter.
    """
    registered = keras.saving.get_custom_objects()
    made = {}
    for key, name in _names(config):
        if name not in registered:
            package = getattr(keras, f"{next(end for end in ENDINGS if key.endswith(end))}s")
            made[name] = _neutral(package)
    return made


def _neutral(package: Any) -> type:
    base: Any = getattr(package, package.__name__.rpartition(".")[2].title()[:-1])

    class Neutral(base):  # type: ignore[misc]
        """Zeros, no penalty, or the weight itself."""

        def __init__(self, *args: Any, **options: Any) -> None:
            pass

        def __call__(self, value: Any, dtype: Any = None, **options: Any) -> Any:
            import keras

            if issubclass(base, keras.initializers.Initializer):
                return keras.ops.zeros(value, dtype or "float32")
            return value if issubclass(base, keras.constraints.Constraint) else 0.0

        def get_config(self) -> dict[str, Any]:
            return {}

        @classmethod
        def from_config(cls, _: Mapping[str, Any]) -> Any:
            return cls()

    return Neutral


def _names(config: Any) -> Iterator[tuple[str, str]]:
    """(key, name) of every initialiser, regulariser and constraint that is not one of Keras."""
    if isinstance(config, list):
        for item in config:
            yield from _names(item)
    if not isinstance(config, Mapping):
        return
    for key, value in config.items():
        if is_for_training(key, value) and isinstance(value, Mapping):
            yield from ((key, name) for name in _spellings(value))
        else:
            yield from _names(value)


def _spellings(value: Any) -> list[str]:
    """The names by which Keras looks up an object that is not one of its own, before it imports
    the module; empty if it might import it.
    """
    if not isinstance(value, Mapping) or str(value.get("module")).partition(".")[0] == "keras":
        return []
    kind, registered = (
        value.get("class_name"),
        value.get("registered_name", value.get("class_name")),
    )
    names = [registered, value.get("config")] if kind == "function" else [kind, registered]
    if not all(isinstance(name, str) and not name.startswith("__") for name in (kind, *names)):
        return []
    return list(dict.fromkeys(names))

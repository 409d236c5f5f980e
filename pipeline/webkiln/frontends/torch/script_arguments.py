"""The arguments of a TorchScript `forward`: its tensors are inputs, everything else has a value
that the build gives, or the default.

A list, tuple or dict of tensors has an input for each tensor: `xs.0`, `xs.1`, `table.left`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from webkiln.errors import UndecidedError
from webkiln.frontends.nodes.sizes import Shapes

INTEGER_READERS = {"aten::embedding": 1, "aten::one_hot": 0, "aten::embedding_bag": 1}
"""Operators with integer operands, and their positions."""
REFINED = frozenset({"prim::unchecked_cast", "prim::unchecked_unwrap_optional"})
NONE = ("none", "None", "null")
"""Spellings of None in `--value`."""
SCALARS: Mapping[str, tuple[tuple[type, ...], str, str]] = {
    "IntType": ((int,), "an integer", "16000"),
    "FloatType": ((int, float), "a number", "0.5"),
    "NumberType": ((int, float), "a number", "0.5"),
    "BoolType": ((bool,), "true or false", "true"),
    "StringType": ((str,), "a text", "fast"),
}
"""By TorchScript's types: the types of values, what they are called, and an example."""


class _Wrong(Exception):
    """A value that does not have its type."""


@dataclass(frozen=True)
class Leaf:
    """The position of a tensor among the inputs."""

    position: int


class Arguments:
    """How the build's inputs and values become the arguments of `forward`.

    `inputs` and `dtypes` are those of its tensors, and `settings` has the names of the arguments
    that are no tensors. Raises UndecidedError for all arguments that have neither a value nor a
    default.
    """

    def __init__(
        self, script: torch.jit.ScriptModule, shapes: Shapes, values: Mapping[str, Any], where: str
    ) -> None:
        self.shapes = {
            **{name: np.shape(value) for name, value in values.items() if not _is_text(value)},
            **shapes,
        }
        self.values = values
        self.inputs: list[str] = []
        self.dtypes: list[torch.dtype] = []
        self.settings: list[str] = []
        self.problems: list[str] = []
        graph_inputs = list(script.inlined_graph.inputs())[1:]
        self.plan = [
            self._planned(argument.name, argument.type, _default(argument), value)
            for argument, value in zip(
                script.forward.schema.arguments[1:], graph_inputs, strict=True
            )
        ]
        if self.problems:
            unknown = [
                name
                for name in self.inputs
                if name not in self.shapes and not ("" in shapes and len(self.inputs) == 1)
            ]
            more = [f"the shape of {name}: --input-shape {name}=..." for name in unknown]
            raise UndecidedError(f"{where}: forward needs {'; '.join([*self.problems, *more])}")

    def bound(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments of `forward`, for the tensors of `inputs`."""
        return [_filled(item, tensors) for item in self.plan]

    def _planned(self, name: str, kind: Any, default: "_Default | None", value: Any) -> Any:
        """A value with a Leaf for each tensor."""
        kind_name = kind.kind()
        if kind_name == "OptionalType":
            inner = kind.getElementType()
            if _is_text(self.values.get(name)) and self.values[name] in NONE:
                self.settings.append(name)
                return None
            if self._is_given(name):
                return self._planned(name, inner, default, value)
            if default is None and inner.kind() == "TensorType":
                self.problems.append(
                    f"{name} ({kind}): --input-shape {name}=1,28 makes it an input,"
                    f" --value {name}=none leaves it out"
                )
                return None
            if default is None or default.value is None:
                self.settings.append(name)
                if default is None:
                    self._demand(name, kind, inner)
                return None
            return self._planned(name, inner, default, value)
        if kind_name == "TensorType":
            return self._input(name, value)
        if _has_tensors(kind):
            return self._collection(name, kind, default)
        self.settings.append(name)
        return self._setting(name, kind, default)

    def _input(self, name: str, value: Any) -> Leaf:
        self.inputs.append(name)
        self.dtypes.append(torch.float32 if value is None else _dtype(value))
        return Leaf(len(self.inputs) - 1)

    def _is_given(self, name: str) -> bool:
        """Whether the build has a shape or a value of an argument, or of a part of it."""
        return any(
            item == name or item.startswith(f"{name}.") for item in (*self.shapes, *self.values)
        )

    def _collection(self, name: str, kind: Any, default: "_Default | None") -> Any:
        if kind.kind() == "TupleType":
            return tuple(
                self._planned(f"{name}.{number}", item, None, None)
                for number, item in enumerate(kind.elements())
            )
        keys = list(
            dict.fromkeys(
                item[len(name) + 1 :].partition(".")[0]
                for item in (*self.shapes, *self.values)
                if item.startswith(f"{name}.")
            )
        )
        if kind.kind() == "ListType":
            count = max((int(key) + 1 for key in keys if key.isdecimal()), default=0)
            if count == 0 or sorted(keys) != sorted(map(str, range(count))):
                return self._undecided(name, kind, f"{name}.0", default)
            return [
                self._planned(f"{name}.{number}", kind.getElementType(), None, None)
                for number in range(count)
            ]
        if not keys:
            return self._undecided(name, kind, f"{name}.KEY", default)
        read: Callable[[str], Any] = int if kind.getKeyType().kind() == "IntType" else str
        return {
            read(key): self._planned(f"{name}.{key}", kind.getValueType(), None, None)
            for key in keys
        }

    def _undecided(self, name: str, kind: Any, first: str, default: "_Default | None") -> Any:
        if default is not None:
            return default.value
        self.problems.append(
            f"{name} ({kind}): give the shape of each tensor, --input-shape {first}=1,28"
            + (f" --input-shape {name}.1=1,28 and so on" if first.endswith(".0") else "")
        )
        return None

    def _setting(self, name: str, kind: Any, default: "_Default | None") -> Any:
        if name in self.values:
            try:
                return _typed(self.values[name], kind)
            except _Wrong as error:
                self.problems.append(
                    f"{error} as {name} ({kind}), got {self.values[name]!r} from --value"
                )
                return None
        if default is not None:
            return default.value
        self._demand(name, kind, kind)
        return None

    def _demand(self, name: str, kind: Any, inner: Any) -> None:
        example = _example(inner)
        self.problems.append(
            f"a value of {name} ({kind}): --value {name}={example}"
            if example
            else f"{name} ({kind}), which webkiln cannot pass; give it a default"
        )


@dataclass(frozen=True)
class _Default:
    value: Any


def _default(argument: Any) -> _Default | None:
    return _Default(argument.default_value) if argument.has_default_value() else None


def _filled(item: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(item, Leaf):
        return tensors[item.position]
    if isinstance(item, list | tuple):
        return type(item)(_filled(part, tensors) for part in item)
    if isinstance(item, dict):
        return {key: _filled(part, tensors) for key, part in item.items()}
    return item


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _has_tensors(kind: Any) -> bool:
    name = kind.kind()
    return name == "TensorType" or any(map(_has_tensors, _parts(kind)))


def _parts(kind: Any) -> Iterator[Any]:
    name = kind.kind()
    if name == "TupleType":
        yield from kind.elements()
    elif name in ("ListType", "OptionalType"):
        yield kind.getElementType()
    elif name == "DictType":
        yield kind.getValueType()


def _typed(value: Any, kind: Any) -> Any:
    """A value of TorchScript's type. Raises _Wrong with what is expected."""
    name = kind.kind()
    if name in SCALARS:
        types, what, _ = SCALARS[name]
        if type(value) not in types:
            raise _Wrong(what)
        return float(value) if name == "FloatType" else value
    if name == "OptionalType":
        inner = kind.getElementType()
        return None if _is_text(value) and value in NONE else _typed(value, inner)
    if name == "ListType" and isinstance(value, list):
        return [_typed(item, kind.getElementType()) for item in value]
    if name == "TupleType" and isinstance(value, list) and len(value) == len(kind.elements()):
        return tuple(_typed(item, part) for item, part in zip(value, kind.elements(), strict=True))
    example = _example(kind)
    raise _Wrong(f"a list such as {example}" if example else "no value that webkiln can pass")


def _example(kind: Any) -> str:
    """A value of a type as `--value` writes it, or '' if there is none."""
    name = kind.kind()
    if name in SCALARS:
        return SCALARS[name][2]
    if name == "OptionalType":
        return _example(kind.getElementType())
    if name in ("ListType", "TupleType"):
        parts = [_example(part) for part in _parts(kind)]
        if all(parts):
            return f"[{','.join(parts if name == 'TupleType' else [*parts, *parts])}]"
    return ""


def _dtype(value: Any) -> torch.dtype:
    """The dtype of an input, by its type or by its readers."""
    dtype = value.type().dtype() if value.type().kind() == "TensorType" else None
    if dtype is not None:
        return dtype
    for use in value.uses():
        kind = use.user.kind()
        if INTEGER_READERS.get(kind, -1) == use.offset:
            return torch.int64
        if kind in REFINED:
            refined = _dtype(next(iter(use.user.outputs())))
            if refined != torch.float32:
                return refined
    return torch.float32

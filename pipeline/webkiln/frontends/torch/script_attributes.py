"""The tensors of a TorchScript module."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from webkiln.errors import SourceError


class AttributePath(tuple[str, ...]):
    """A reference to an attribute of the program, or a submodule as a value."""

    __slots__ = ()


# torch is untyped here.
class ScriptAttributes(torch.nn.Module):  # type: ignore[misc]
    """The parameters and buffers of a loaded TorchScript module, which are shared with it. `dated`:
    the file shows that torch 2.1 or newer wrote it.
    """

    def __init__(self, script: torch.jit.ScriptModule, *, dated: bool = True) -> None:
        super().__init__()
        self.dated = dated
        self.names: set[str] = set()
        self.aliases: dict[Identity, str] = {}
        self.shared: dict[int, set[str]] = {}
        for name, value in [*script.named_parameters(), *script.named_buffers()]:
            self._register(name, value)
        self.script = (script,)
        self.settled: dict[str, Any] = {}
        graph = script.forward.graph
        torch._C._jit_pass_inline(graph)
        self.graph = (graph,)
        assigned, read = (_attributes(graph, kind) for kind in ("prim::SetAttr", "prim::GetAttr"))
        self.assigned = assigned
        for name in sorted(assigned | read):
            value = self.original(name)
            if isinstance(value, Tensor) and name not in self.names:
                other = self.aliases.get(identity(value))
                if other is None or {name, other} & assigned:
                    self._register(name, value)

    def _register(self, name: str, value: Tensor) -> None:
        owner: torch.nn.Module = self
        *path, leaf = name.split(".")
        for part in path:
            if not hasattr(owner, part):
                owner.add_module(part, torch.nn.Module())
            owner = getattr(owner, part)
        names = self.shared.setdefault(memory(value), set())
        owner.register_buffer(leaf, value.detach().clone() if names else value.detach())
        self.aliases.setdefault(identity(value), name)
        self.names.add(name)
        if value.numel():
            names.add(name)

    def original(self, name: str) -> Any:
        """The value of an attribute in the file."""
        value: Any = self.script[0]
        for part in name.split("."):
            value = getattr(value, part, None)
        return value

    def unsettled(self) -> list[str]:
        """Attributes that the program assigns and that do not start as a tensor with elements."""
        return sorted(
            name
            for name in self.assigned
            if not isinstance(value := self.original(name), Tensor) or not value.numel()
        )

    def settle(self, attributes: Mapping[str, Any]) -> None:
        """Start each run with these attributes. The tensors become states."""
        for name, value in attributes.items():
            if isinstance(value, Tensor):
                self._register(name, value)
            else:
                self.settled[name] = value

    def check_changed(self, value: Tensor) -> None:
        """Raise SourceError if an in-place change would affect another name: here, each tensor has
        its own memory.
        """
        changed = {name for name, buffer in self.named_buffers() if memory(buffer) == memory(value)}
        for names in self.shared.values():
            if changed & names and len(names) > 1:
                raise SourceError(
                    f"{' and '.join(sorted(names))} share memory that is changed in place; give"
                    " each its own copy with .clone()"
                )


Identity = tuple[int, tuple[int, ...], tuple[int, ...]]


def identity(value: Tensor) -> Identity:
    """The identity of a tensor that has several names: its memory and layout."""
    return value.data_ptr() or id(value), tuple(value.shape), tuple(value.stride())


def memory(value: Tensor) -> int:
    return int(value.untyped_storage()._cdata)


def _attributes(graph: Any, kind: str) -> set[str]:
    """The paths of attributes that nodes read or assign."""
    return {
        ".".join((*attribute_path(next(iter(node.inputs()))), node.s("name")))
        for node in graph.findAllNodes(kind)
    }


def attribute_path(value: Any) -> tuple[str, ...]:
    node = value.node()
    return (
        (*attribute_path(next(iter(node.inputs()))), node.s("name"))
        if node.kind() == "prim::GetAttr"
        else ()
    )

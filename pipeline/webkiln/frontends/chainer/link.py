"""Replacements for `chainer.Link`, `Chain`, `ChainList` and `Sequential`: parameters and links by
path.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from webkiln.errors import SourceError
from webkiln.frontends.chainer.recorder import ACTIVE
from webkiln.frontends.chainer.settings import OnCpu
from webkiln.frontends.chainer.variable import ChainVariable, Parameter


class Link(OnCpu):
    """A link with parameters, persistent values and, if it is a chain, child links. Calls are
    recorded under its path.
    """

    _scoped = False

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **params: Any) -> None:
        self._params: list[str] = []
        self._persistent: list[str] = []
        self.name: str | None = None
        for name, value in params.items():
            shape, dtype = (
                value
                if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple)
                else (value, None)
            )
            self.add_param(name, shape, dtype=dtype)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__call__" in cls.__dict__:
            cls.__call__ = _in_scope(cls.__dict__["__call__"])  # type: ignore[method-assign]

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise SourceError(f"{type(self).__name__} has neither forward nor __call__")
        with ACTIVE.current().inside(path_of(self), is_link=True) as finish:
            return finish(forward(*inputs, **options))

    def __setattr__(self, name: str, value: Any) -> None:
        if self._scoped and isinstance(value, Parameter):
            value.name = name
            self._listed("_params", name)
        super().__setattr__(name, value)

    def _listed(self, kind: str, name: str) -> None:
        names = self.__dict__.setdefault(kind, [])
        if name not in names:
            names.append(name)

    @contextmanager
    def init_scope(self) -> Iterator[None]:
        before = self._scoped
        object.__setattr__(self, "_scoped", True)
        try:
            yield
        finally:
            object.__setattr__(self, "_scoped", before)

    @property
    def within_init_scope(self) -> bool:
        return self._scoped

    def add_param(
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None
    ) -> None:
        with self.init_scope():
            setattr(self, name, Parameter(initializer, shape))

    def add_uninitialized_param(self, name: str) -> None:
        self.add_param(name)

    def add_persistent(self, name: str, value: Any) -> None:
        self._listed("_persistent", name)
        super().__setattr__(name, value)

    def register_persistent(self, name: str) -> None:
        self._listed("_persistent", name)

    def named_children(self) -> Iterator[tuple[str, "Link"]]:
        return iter(())

    def children(self) -> Iterator["Link"]:
        return (link for _, link in self.named_children())

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, "Link"]]:
        """All links with their paths. A link with several owners occurs once for each."""
        todo: list[tuple[str, Link, frozenset[int]]] = [("", self, frozenset())]
        while todo:
            path, link, above = todo.pop(0)
            if id(link) in above:
                raise SourceError(f"the link {path or '/'} contains itself")
            if link is not self or not skipself:
                yield path or "/", link
            todo[:0] = [
                (f"{path}/{name}", child, above | {id(link)})
                for name, child in link.named_children()
            ]

    def links(self, skipself: bool = False) -> Iterator["Link"]:
        return (link for _, link in self.namedlinks(skipself))

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        for path, link in self.namedlinks():
            for name in sorted(link.__dict__.get("_params", ())):
                param = getattr(link, name)
                if isinstance(param, Parameter) and (include_uninit or param.is_initialized):
                    yield f"{path.rstrip('/')}/{name}", param

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        return (param for _, param in self.namedparams(include_uninit))

    def named_persistent(self) -> Iterator[tuple[str, "Link", str]]:
        """The path, owner and name of every persistent value."""
        for path, link in self.namedlinks():
            for name in link.__dict__.get("_persistent", ()):
                yield f"{path.rstrip('/')}/{name}", link, name

    def count_params(self) -> int:
        return sum(int(param.size) for param in self.params())

    def copyparams(self, link: "Link", copy_persistent: bool = True) -> None:
        params = dict(link.namedparams())
        for path, param in self.namedparams():
            if path in params:
                param.array = params[path].array

    def copy(self, mode: str = "share") -> "Link":
        return copy.copy(self) if mode == "share" else copy.deepcopy(self)

    def repeat(self, n_repeat: int, mode: str = "init") -> "SequentialChain":
        return SequentialChain(*(copy.deepcopy(self) for _ in range(n_repeat)))

    def to_cpu(self) -> "Link":
        return self

    def to_gpu(self, device: Any = None) -> "Link":
        return self

    to_device = to_intel64 = to_chx = from_chx = to_gpu

    def cleargrads(self) -> None:
        pass

    zerograds = disable_update = enable_update = cleargrads

    @property
    def update_enabled(self) -> bool:
        return False


def path_of(link: Link) -> str:
    return str(ACTIVE.current().links.get(id(link), type(link).__name__.lower()))


def _in_scope(call: Any) -> Any:
    """Use a script's `__call__`, as Chainer before version 5 did."""

    def scoped(self: Link, *inputs: Any, **options: Any) -> Any:
        recorder, path = ACTIVE.current(), path_of(self)
        if recorder.scopes and recorder.scopes[-1] == (path, True):
            return call(self, *inputs, **options)
        with recorder.inside(path, is_link=True) as finish:
            return finish(call(self, *inputs, **options))

    scoped.__wrapped__ = call  # type: ignore[attr-defined]
    return scoped


class Chain(Link):
    """Child links by attribute."""

    def __init__(self, **links: Any) -> None:
        super().__init__()
        for name, link in links.items():
            self.add_link(name, link)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._scoped and isinstance(value, Link):
            value.name = name
            self._listed("_children", name)
        super().__setattr__(name, value)

    def add_link(self, name: str, link: Link) -> None:
        with self.init_scope():
            setattr(self, name, link)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def named_children(self) -> Iterator[tuple[str, Link]]:
        for name in self.__dict__.get("_children", ()):
            child = getattr(self, name, None)
            if isinstance(child, Link):
                yield name, child


class ChainList(Link):
    """Child links by index."""

    def __init__(self, *links: Link) -> None:
        super().__init__()
        self._items: list[Link] = []
        for link in links:
            self.add_link(link)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._scoped and isinstance(value, Link):
            raise TypeError(
                'cannot register a new link within a "with chainlist.init_scope():" block.'
            )
        super().__setattr__(name, value)

    def add_link(self, link: Link) -> None:
        link.name = str(len(self._items))
        self._items.append(link)

    append = add_link

    def extend(self, links: Any) -> None:
        for link in links:
            self.append(link)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __setitem__(self, index: int, link: Link) -> None:
        self._items[index] = link

    def __iter__(self) -> Iterator[Link]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def children(self) -> Iterator[Link]:
        return iter(self._items)

    def named_children(self) -> Iterator[tuple[str, Link]]:
        return ((str(number), link) for number, link in enumerate(self._items))


class SequentialChain(ChainList):
    """Links and functions in sequence. Links are numbered, but not in this order."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self._layers: list[Any] = []
        for layer in layers:
            self.append(layer)

    def append(self, layer: Any) -> None:
        """Chainer inserts each link at the layer index of the first one, and snapshots use the
        resulting numbers.
        """
        if isinstance(layer, Link):
            first = next(
                (index for index, item in enumerate(self._layers) if isinstance(item, Link)), 0
            )
            self._items.insert(first + 1 if self._layers else 0, layer)
            for number, item in enumerate(self._items):
                item.name = str(number)
        self._layers.append(layer)

    def __getitem__(self, index: Any) -> Any:
        return (
            SequentialChain(*self._layers[index])
            if isinstance(index, slice)
            else self._layers[index]
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)

    def forward(self, *inputs: Any) -> Any:
        values: tuple[Any, ...] = inputs
        for layer in self._layers:
            result = layer(*values)
            values = result if isinstance(result, tuple) else (result,)
        return values[0] if len(values) == 1 else values

    def flatten(self) -> "SequentialChain":
        parts: list[Any] = []
        for layer in self._layers:
            parts += list(layer.flatten()) if isinstance(layer, SequentialChain) else [layer]
        return SequentialChain(*parts)


__all__ = ["Chain", "ChainList", "ChainVariable", "Link", "SequentialChain"]

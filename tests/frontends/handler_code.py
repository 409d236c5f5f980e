"""What the code of handlers mentions: the attributes that it reads, and all its strings."""

import dis
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

OWN = "webkiln.frontends."


def functions_of(handler: Callable[..., Any]) -> list[FunctionType]:
    """A handler and all functions of front ends that it may call: by a global name, in a table, as
    a closure's value or as a default argument.
    """
    found: dict[FunctionType, None] = {}
    classes: set[type] = set()
    todo: list[Any] = [handler]
    while todo:
        item = todo.pop()
        if isinstance(item, Mapping):
            todo += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            todo += item
        elif isinstance(item, functools.partial):
            todo += [item.func, *item.args, *item.keywords.values()]
        elif isinstance(item, MethodType | property):
            todo.append(item.__func__ if isinstance(item, MethodType) else item.fget)
        elif isinstance(item, type) and item.__module__.startswith(OWN) and item not in classes:
            classes.add(item)
            todo += vars(item).values()
        elif (
            isinstance(item, FunctionType) and item.__module__.startswith(OWN) and item not in found
        ):
            found[item] = None
            todo += referred(item)
    return list(found)


def referred(function: FunctionType) -> Iterator[Any]:
    """The values that a function refers to."""
    yield from (cell.cell_contents for cell in function.__closure__ or ())
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for code in code_of(function):
        yield from (
            function.__globals__[name] for name in code.co_names if name in function.__globals__
        )


def code_of(function: FunctionType) -> Iterator[CodeType]:
    todo = [function.__code__]
    while todo:
        code = todo.pop()
        yield code
        todo += [item for item in code.co_consts if isinstance(item, CodeType)]


def names_read(function: FunctionType, methods: Iterable[str]) -> set[str]:
    """The constants that are first arguments of calls of these methods, without the beginnings of
    f-strings.
    """
    found = set()
    for code in code_of(function):
        for method, argument in itertools.pairwise(dis.get_instructions(code)):
            if (
                method.opname in ("LOAD_METHOD", "LOAD_ATTR")
                and method.argval in methods
                and argument.opname == "LOAD_CONST"
                and isinstance(argument.argval, str)
                and not argument.argval.endswith("_")
            ):
                found.add(argument.argval)
    return found


class Strings:
    """The strings in the code of functions. A part of an f-string matches the names that begin or
    end with it. An underscore in an f-string joins two strings.
    """

    def __init__(self, functions: Iterable[FunctionType]) -> None:
        self.whole: set[str] = set()
        self.parts: set[str] = set()
        for function in functions:
            for value in referred(function):
                self.whole |= set(strings_in(value))
            for code in code_of(function):
                constants = set(strings_in(code.co_consts))
                self.whole |= constants
                if any(item.opname == "BUILD_STRING" for item in dis.get_instructions(code)):
                    self.parts |= {item for item in constants if "_" in (item[:1], item[-1:])}

    def has(self, name: str) -> bool:
        if "_" in self.parts and self.whole.issuperset(name.rsplit("_", 1)):
            return True
        return name in self.whole or any(
            name.startswith(part) if part.endswith("_") else name.endswith(part)
            for part in self.parts - {"_"}
        )


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.items():
            yield from strings_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from strings_in(item)

"""Handlers read every attribute of their operators that has an effect, and no other one."""

from functools import cache

import pytest

from tests.frontends.attribute_schemas import FORMATS, NODE_METHODS, Attributes
from tests.frontends.attributes_without_effect import WITHOUT_EFFECT
from tests.frontends.handler_code import Strings, functions_of, names_read
from webkiln.frontends.nodes.call import NodeCall
from webkiln.ops.builder import Tensor


@cache
def attributes(name: str) -> Attributes:
    return FORMATS[name]()


def unread(found: Attributes) -> set[tuple[str, str]]:
    """The operators and attributes that the code of handlers does not mention."""
    result = set()
    for op, handler in found.handlers.items():
        strings = Strings(functions_of(handler))
        if found.loading is not None and op in found.loading:
            loading = Strings(functions_of(found.loading[op]))
            strings.whole |= loading.whole
        result |= {(op, name) for name in found.schema[op] if not strings.has(name)}
    return result


@pytest.mark.parametrize("name", FORMATS)
def test_attributes_that_are_not_read_have_no_effect(name: str) -> None:
    """A row without an unread attribute is stale."""
    rows = WITHOUT_EFFECT[name]
    missing = unread(attributes(name))
    assert {
        item for item in missing if not {f"{item[0]}.{item[1]}", item[1]} & rows.keys()
    } == set()
    assert rows.keys() <= {
        text for op, attribute in missing for text in (f"{op}.{attribute}", attribute)
    }


def unknown(found: Attributes) -> set[tuple[str, str]]:
    """The functions, and the attributes that they read, which none of their operators has."""
    users: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for op, handler in found.handlers.items():
        for function in functions_of(handler):
            label = f"{function.__module__}.{function.__qualname__}"
            users.setdefault(label, set()).update(found.schema[op] | found.types.get(op, set()))
            names.setdefault(label, set()).update(names_read(function, found.methods))
    return {
        (label, name)
        for label, known in users.items()
        for name in names[label] - known - found.written
    }


@pytest.mark.parametrize("name", FORMATS)
def test_handlers_read_only_attributes_that_their_operators_have(name: str) -> None:
    assert unknown(attributes(name)) == set()


def scaled(call: NodeCall) -> Tensor:
    return call.tensor(0) * float(call.attr("scal", 1.0))


scaled.__module__ = "webkiln.frontends.example"


def test_a_misspelt_attribute_is_found() -> None:
    found = Attributes({"Scale": scaled}, {"Scale": {"scale"}}, NODE_METHODS)
    assert unread(found) == {("Scale", "scale")}
    assert {name for _, name in unknown(found)} == {"scal"}

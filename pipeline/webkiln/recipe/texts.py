"""Options as text, on the command line and in imports, as the values that recipe.toml would have.

Readers get the texts of an option and its flag with dashes. They raise RecipeError.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError
from webkiln.recipe.checks import SIZE_NAME, is_constant

WORD = r"[A-Za-z_][\w.-]*"
SIZE = rf"[1-9]\d*|{SIZE_NAME.pattern}"
Reader = Callable[[Sequence[str], str], Any]


def last(texts: Sequence[str], flag: str) -> str:
    return texts[-1]


def every(texts: Sequence[str], flag: str) -> list[str]:
    return list(texts)


def commas(texts: Sequence[str], flag: str) -> list[str]:
    return texts[-1].split(",")


def switch(texts: Sequence[str], flag: str) -> bool:
    return True


def integer(texts: Sequence[str], flag: str) -> int:
    try:
        return int(texts[-1])
    except ValueError as error:
        raise _wrong(flag, texts[-1], "a positive integer") from error


def real(texts: Sequence[str], flag: str) -> float:
    try:
        return float(texts[-1])
    except ValueError as error:
        raise _wrong(flag, texts[-1], "a positive number") from error


def pairs(read: Callable[[str, str], tuple[str, Any]]) -> Reader:
    """A reader of NAME=VALUE texts, which makes a table; the last value of a name counts."""
    return lambda texts, flag: dict(read(text, flag) for text in texts)


def parameter(text: str, flag: str) -> tuple[str, Any]:
    """NAME=VALUE: a number or truth value as TOML writes it, otherwise a string."""
    name, equals, value = text.partition("=")
    if not equals:
        raise _wrong(flag, text, "NAME=VALUE, such as weights=random")
    read: Any = value
    with suppress(tomllib.TOMLDecodeError):
        read = tomllib.loads(f"value = {value}")["value"]
    return name, read if isinstance(read, bool | int | float | str) else value


def value(text: str, flag: str) -> tuple[str, Any]:
    """INPUT=VALUE: numbers, truth values, strings and lists as TOML writes them. A string that is a
    word needs no quotes.
    """
    name, _, value = text.partition("=") if '"' in text else text.rpartition("=")
    if name and re.fullmatch(WORD, value) and value not in ("true", "false", "inf", "nan"):
        return name, value
    with suppress(tomllib.TOMLDecodeError):
        read = tomllib.loads(f"value = {value}")["value"]
        if name and is_constant(read):
            return name, read
    raise _wrong(flag, text, "INPUT=VALUE, such as sr=16000 or scales=[1,1,2,2]")


def layer_encoding(text: str, flag: str) -> tuple[str, str]:
    """LAYER=ENCODING: a pattern of layers. Names of layers may contain '='."""
    name, _, encoding = text.rpartition("=")
    if not name:
        raise _wrong(flag, text, "LAYER=ENCODING, such as head*=float32")
    return name, encoding


def image(text: str, flag: str) -> tuple[str, dict[str, Any]]:
    """INPUT={...}: an inline table as TOML writes it."""
    name, _, value = text.partition("=")
    with suppress(tomllib.TOMLDecodeError):
        read = tomllib.loads(f"value = {value}")["value"]
        if name and isinstance(read, dict):
            return name, read
    raise _wrong(flag, text, 'INPUT={...}, such as image={fit="crop", color="BGR"}')


def size(text: str, flag: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not re.fullmatch(r"[1-9]\d*", number):
        raise _wrong(flag, text, "NAME=SIZE, such as T=20")
    return name, int(number)


def number(text: str, flag: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError as error:
        raise _wrong(flag, text, "NAME=NUMBER, such as float32=1e-4") from error


def dims(texts: Sequence[str], flag: str) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name or not re.fullmatch(SIZE, number):
            raise _wrong(flag, text, "NAME=SIZE, such as batch=1; the size may also be a name")
        given = _size(number)
        if found.setdefault(name, given) != given:
            raise RecipeError(f"{flag} gives {name} twice, as {found[name]} and as {given}")
    return found


def input_shape(text: str, flag: str) -> tuple[str, list[int | str]]:
    name, _, sizes = text.rpartition("=")
    if name and not sizes:
        return name, []
    if not re.fullmatch(rf"({SIZE})(,({SIZE}))*", sizes):
        expected = (
            "sizes such as 1,28,28,1 or image=1,28,28,1, or rate= for one number; a name, as in"
            " 1,T,16, is set at run time"
        )
        raise _wrong(flag, text, expected)
    return name, [_size(number) for number in sizes.split(",")]


def labels(texts: Sequence[str], flag: str) -> list[str] | dict[str, list[str]]:
    """Files with one label a line: of all outputs, or of the named ones."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, _, path = text.rpartition("=")
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RecipeError(f"{flag}: {path} cannot be read: {error}") from error
        found[name] = [line for line in lines if line]
    if "" in found and len(found) > 1:
        raise RecipeError(
            f"{flag} gives labels of all outputs and of {', '.join(filter(None, found))}; name an"
            " output in each"
        )
    return found.get("", found)


def package(texts: Sequence[str], flag: str) -> dict[str, str]:
    name, at, version = texts[-1].rpartition("@")
    if not at or not name:
        raise _wrong(flag, texts[-1], "NAME@VERSION, such as @me/model@1.0.0")
    return {"name": name, "version": version}


def _size(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _wrong(flag: str, text: str, expected: str) -> RecipeError:
    return RecipeError(f"{flag} is {text!r}, expected {expected}")

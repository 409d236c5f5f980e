"""The code of a Lambda layer in a file, as data."""

import base64
import binascii
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webkiln.frontends.keras.lambdas.marshalled import MAX_BYTES, Code, read_code


@dataclass(frozen=True, slots=True)
class Function:
    """The function of a Lambda layer: its code and the defaults of its last arguments."""

    code: Code
    defaults: tuple[Any, ...] = ()


def stored_function(config: Any) -> Function | None:
    """The function in a Lambda's config; None if it is not code, or reads variables of an outer
    function.

    Keras 1 and 2 write [code, defaults, closure], the code in base64 (Keras before 2.1.3: as
    text of latin characters). Keras 3 writes a dict of these.
    """
    stored = _stored(config)
    if len(stored) != 3:
        return None
    text, defaults, closure = stored
    code = next((code for data in _decoded(text) if (code := read_code(data)) is not None), None)
    if code is None or closure or not code.is_closed:
        return None
    return Function(code, tuple(defaults or ()))


def _stored(config: Any) -> list[Any]:
    """[code, defaults, closure] in a Lambda's config; empty if its function is not code."""
    stored = config.get("function") if isinstance(config, Mapping) else None
    if isinstance(stored, Mapping) and stored.get("class_name") == "__lambda__":
        inner = stored.get("config")
        if not isinstance(inner, Mapping):
            return []
        stored = [inner.get(name) for name in ("code", "defaults", "closure")]
    return stored if isinstance(stored, list) and stored and isinstance(stored[0], str) else []


def _decoded(text: str) -> list[bytes]:
    found = []
    if len(text) <= 2 * MAX_BYTES:
        try:
            found.append(base64.b64decode(text.encode("ascii"), validate=False))
        except (UnicodeEncodeError, binascii.Error, ValueError):
            pass
        try:
            found.append(text.encode("raw_unicode_escape"))
        except UnicodeEncodeError:
            pass
    return found


def is_loadable(config: Any) -> bool:
    """Whether this Python may be able to load a Lambda's code. Python changes its bytecode with
    every version; that of 3.10 and before has another layout.
    """
    stored = _stored(config)
    if not stored:
        return True
    codes = [code for data in _decoded(stored[0]) if (code := read_code(data)) is not None]
    return bool(codes) and codes[0].layout == "3.13" and sys.version_info >= (3, 11)

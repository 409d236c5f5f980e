"""The format of entries: one header line with the signature, then the body, canonical JSON.

    webkiln.entry/2 ALGORITHM SIGNATURE        (or: webkiln.entry/2 unsigned)
    {"key":KEY,"result":{"outputs":{PATH:{"bytes":SIZE,"sha256":DIGEST}},"printed":TEXT},
     "schema":"webkiln.entry/2"}                                        (in one line)

The signature covers the bytes of the body and is checked before they are parsed. What is parsed is
bounded in bytes, depth and number of outputs; names are plain relative paths.
"""

import re
from typing import Any

from webkiln import canonical
from webkiln.build.action import ActionResult, Blob
from webkiln.build.remote.signing import Signer

SCHEMA = "webkiln.entry/2"
LARGEST = 4 << 20
"""The maximal size of an entry in bytes."""
DEEPEST = 8
MOST_NAMES = 10_000
LONGEST_PATH, LONGEST_NAME = 1000, 200
"""Bytes in UTF-8. File systems allow 255 for a name, and temporary names are longer."""
LARGEST_BLOB = 64 << 30
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
HEADER = re.compile(rb"webkiln\.entry/2 (?:unsigned|([a-z0-9-]{1,32}) ([0-9a-f]{2,256}))\n")
TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
READ = re.compile(r"(?:stat:|tree:)?\d{1,3}/(?P<path>.*)", re.ASCII | re.DOTALL)
IMPORT = re.compile(r"import:\d{1,3}/(?P<path>.+):(?P<modules>[^/:]+)", re.ASCII | re.DOTALL)
PACKAGE = re.compile(r"package:[A-Za-z0-9._-]{1,200}", re.ASCII)
LONGEST_IMPORT = 1 << 17


class EntryError(Exception):
    """The reason why an entry is not used. `malformed`: webkiln did not write it."""

    def __init__(self, reason: str, *, malformed: bool = True) -> None:
        super().__init__(reason)
        self.malformed = malformed


def entry_key(key: str) -> str:
    """The key of an entry in the remote cache. It includes the schema, so that entries of other
    formats do not collide.
    """
    return canonical.digest(f"{SCHEMA}:{key}".encode())


def written(key: str, fields: dict[str, Any], signer: Signer | None) -> bytes:
    """The bytes of an entry, signed if there is a signing key."""
    body = canonical.dumps({"schema": SCHEMA, "key": key, **fields})
    if signer is None:
        return f"{SCHEMA} unsigned\n".encode() + body
    assert signer.sign is not None
    return f"{SCHEMA} {signer.algorithm} {signer.sign(body).hex()}\n".encode() + body


def read(data: bytes, key: str, signer: Signer | None) -> dict[str, Any]:
    """The body of an entry of this key, signed by `signer` if there is one. Raises EntryError."""
    if len(data) > LARGEST:
        raise EntryError(f"has more than {LARGEST} bytes")
    header = HEADER.match(data)
    if header is None:
        raise EntryError("has an invalid format")
    body = data[header.end() :]
    if signer is not None:
        if header[1] is None:
            raise EntryError("is not signed", malformed=False)
        value = bytes.fromhex(header[2].decode()) if len(header[2]) % 2 == 0 else b""
        if header[1].decode() != signer.algorithm or not signer.check(body, value):
            raise EntryError("is signed by another key", malformed=False)
    fields = _parsed(body)
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        raise EntryError("has an invalid format")
    if fields.get("key") != key:
        raise EntryError("belongs to another key")
    return fields


def result_of(body: dict[str, Any], provenance: str) -> ActionResult:
    """The result in a body. Raises EntryError where its paths or digests are invalid."""
    try:
        result = ActionResult.from_json(body["result"], provenance)
        names = len(result.outputs)
    except (KeyError, TypeError, AttributeError) as error:
        raise EntryError("has an invalid format") from error
    if names > MOST_NAMES:
        raise EntryError(f"names {names} outputs, more than {MOST_NAMES}")
    if not is_sound(result):
        raise EntryError("has invalid names, digests or sizes of outputs")
    return result


def reads_of(body: dict[str, Any]) -> tuple[str, ...]:
    """The discovered inputs in a body. Raises EntryError where a name leads out of its root."""
    names = body.get("reads")
    if not isinstance(names, list) or len(names) > MOST_NAMES or not all(map(_is_read, names)):
        raise EntryError("has invalid names of discovered inputs")
    return tuple(names)


def is_sound(result: ActionResult) -> bool:
    """Whether the paths and digests of a result are valid, and its text can be printed."""
    if not isinstance(result.printed, str) or not _is_text(result.printed):
        return False
    return all(is_path(path) and _is_blob(blob) for path, blob in result.outputs.items())


def is_path(path: object) -> bool:
    """Whether this is a relative path of printable characters without `..`. A trailing `/` is
    allowed.
    """
    if (
        not isinstance(path, str)
        or not path.isprintable()
        or set(path) & set("\\:")
        or len(path.encode()) > LONGEST_PATH
    ):
        return False
    return all(
        part not in ("", ".", "..") and len(part.encode()) <= LONGEST_NAME
        for part in path.removesuffix("/").split("/")
    )


def _is_read(name: object) -> bool:
    if not isinstance(name, str) or len(name) > LONGEST_IMPORT:
        return False
    match = IMPORT.fullmatch(name) or READ.fullmatch(name)
    if match is None:
        return PACKAGE.fullmatch(name) is not None
    # Python imports modules of any name, such as `_sysconfigdata__linux_x86_64-linux-gnu`.
    if "modules" in match.groupdict() and not all(map(is_path, match["modules"].split(","))):
        return False
    return match["path"] in (".", "./", *([""] if name.startswith("tree:") else [])) or is_path(
        match["path"]
    )


def _is_blob(blob: Blob) -> bool:
    known = isinstance(blob.sha256, str) and DIGEST.fullmatch(blob.sha256) is not None
    return known and type(blob.bytes) is int and 0 <= blob.bytes <= LARGEST_BLOB


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _parsed(body: bytes) -> Any:
    depth = 0
    for token in TOKEN.finditer(body):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
        if not 0 <= depth <= DEEPEST:
            raise EntryError("has an invalid format")
    try:
        return canonical.loads(body.decode())
    except ValueError as error:
        raise EntryError("has an invalid format") from error

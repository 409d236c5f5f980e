"""Forged entries, derived from valid ones. `FORGED` lists what an attacker can write without the
key; none of it may be used.
"""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from webkiln import canonical

Change = Callable[[dict[str, Any], random.Random], object]


def _named(name: str) -> Change:
    def change(outputs: dict[str, Any], random: random.Random) -> None:
        outputs[name] = random.choice([*outputs.values()])

    return change


def _renamed(name: str) -> Change:
    def change(outputs: dict[str, Any], random: random.Random) -> None:
        outputs[name] = outputs.pop(random.choice([*outputs]))

    return change


def _with(**fields: Any) -> Change:
    def change(outputs: dict[str, Any], random: random.Random) -> None:
        random.choice([*outputs.values()]).update(fields)

    return change


def _lacking(outputs: dict[str, Any], random: random.Random) -> None:
    outputs.pop(random.choice([*outputs]))


def _without_runtime(outputs: dict[str, Any], random: random.Random) -> None:
    outputs.pop("bundle/runtime.js" if "bundle/runtime.js" in outputs else next(iter(outputs)))


OUTPUTS: Mapping[str, Change] = {
    "above": _named("bundle/../../evil"),
    "absolute": _named("/etc/evil"),
    "nested": _named("bundle/a/b.js"),
    "newline": _named("bundle/a\nb.js"),
    "escape": _named("bundle/\x1b[2J.js"),
    "surrogate": _named("bundle/\ud800.js"),
    "long": _named("bundle/" + "x" * 300 + ".js"),
    "never made": _named("other.json"),
    "foreign file": _named("bundle/evil.js"),
    "right to left": _renamed("bundle/\u202esj.js"),
    "renamed": _renamed("graph.jsn"),
    "no name": _renamed(""),
    "digest": _with(sha256="../../../evil"),
    "capitals": _with(sha256="A" * 64),
    "no digest": _with(sha256=None),
    "petabyte": _with(bytes=10**15),
    "gigabytes": _with(bytes=60 << 30),
    "negative": _with(bytes=-1),
    "truth": _with(bytes=True),
    "fraction": _with(bytes=1.5),
    "wrong size": _with(bytes=17),
    "lacking": _lacking,
    "no runtime": _without_runtime,
    "sixty thousand": lambda outputs, random: outputs.update(
        {f"bundle/weights-{n:08x}.bin": {"sha256": f"{n:064x}", "bytes": 1} for n in range(60_000)}
    ),
    "nine thousand": lambda outputs, random: outputs.update(
        {f"bundle/weights-{n:08x}.bin": {"sha256": f"{n:064x}", "bytes": 1} for n in range(9_000)}
    ),
    "none": lambda outputs, random: outputs.clear(),
    "list": lambda outputs, random: outputs.update({"x": [1]}),
}
TEXTS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "deep lists": lambda body, random: b"[" * 100_000,
    "deep tables": lambda body, random: b'{"a":' * 100_000,
    "deep in UTF-16": lambda body, random: ("[" * 50_000).encode("utf-16"),
    "deep result": lambda body, random: body.replace(b'"result":', b'"result":' + b"[" * 50_000, 1),
    "long number": lambda body, random: body.replace(b'"bytes":', b'"bytes":' + b"9" * 6000, 1),
    "not a number": lambda body, random: b'{"a":NaN}',
    "text": lambda body, random: b"hello",
    "nothing": lambda body, random: b"",
    "cut off": lambda body, random: body[: random.randrange(len(body))],
    "null": lambda body, random: b"null",
    "list of nothing": lambda body, random: b"[]",
    "other schema": lambda body, random: body.replace(b"webkiln.entry/2", b"webkiln.entry/9"),
    "other key": lambda body, random: body.replace(b'"key":"', b'"key":"0'),
    "quotes": lambda body, random: b'"' + b'\\"' * 200_000,
    "large": lambda body, random: body + b" " * (5 << 20),
    "zeros": lambda body, random: bytes(1000),
    "no UTF-8": lambda body, random: b"\xff\xfe" + body,
    "printed surrogate": lambda body, random: body.replace(
        b'"printed":"', b'"printed":"\\ud800', 1
    ),
}
READS = (
    "0/../../../../dev/zero",
    "x/a",
    "0//etc/passwd",
    "-1/a",
    "0/a\nb",
    "99999999999/a",
    "/",
    "",
    "0/" + "a" * 2000,
)
HEADERS = (
    b"",
    b"webkiln.entry/1 unsigned\n",
    b"webkiln.entry/2\n",
    b"webkiln.entry/2 hmac-sha256 zz\n",
    b"webkiln.entry/2 hmac-sha256 abc\n",
    b"{",
)
FORGED = (*OUTPUTS, *TEXTS, "reads", "header")


def forged(entry: bytes, kind: str, random: random.Random) -> bytes:
    """Forge an entry in one of the ways of `FORGED`. The header is unchanged,
    except for "header".
    """
    header, _, body = entry.partition(b"\n")
    if kind == "header":
        return random.choice(HEADERS) + body
    if kind in TEXTS:
        return header + b"\n" + TEXTS[kind](body, random)
    data = json.loads(body)
    if kind == "reads" or "result" not in data:
        data = {**data, "reads": [random.choice(READS)]}
    else:
        OUTPUTS[kind](data["result"]["outputs"], random)
    return header + b"\n" + json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def poisoned(entry: bytes, blob: bytes) -> bytes:
    """A well-formed entry whose outputs have other bytes. A build without a key accepts it."""
    header, _, body = entry.partition(b"\n")
    data = json.loads(body)
    for output in data.get("result", {}).get("outputs", {}).values():
        output |= {"sha256": canonical.digest(blob), "bytes": len(blob)}
    return header + b"\n" + canonical.dumps(data)

"""The signature of a TorchScript file's `forward`, from its code, which is not run."""

import pickletools
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_CODE = 4 << 20
FORWARD = re.compile(r"def forward\(self: [\w.$]+,?\s*")
BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str
    default: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + (f"={self.default}" if self.default else "")

    @property
    def is_value(self) -> bool:
        """Whether it is no tensor, so that the build gives its value."""
        return "Tensor" not in self.type

    @property
    def described(self) -> str:
        return f"{self.name}: {self.type}" + (
            f" (default {self.default})" if self.default else " (needs --value)"
        )


def forward_signature(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]
) -> tuple[Parameter, ...]:
    """The parameters of the root module's `forward`; empty if its code does not show them."""
    code = _root_class(archive, members)
    match = FORWARD.search(code)
    if match is None:
        return ()
    return tuple(
        Parameter(name.strip(), kind.strip(), default.strip())
        for name, kind, default in map(_parsed, _split(code[match.end() :]))
        if name.strip()
    )


def _root_class(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> str:
    """The code from the class of the root module, which is the first one in data.pkl, on. If
    data.pkl names no class of the archive, the code of its only file.
    """
    pickle = members.get("data.pkl")
    if pickle is not None and pickle.file_size > MAX_CODE:
        return ""
    values = pickletools.genops(archive.read(pickle)) if pickle is not None else ()
    names = (arg for op, arg, _ in values if op.name == "GLOBAL")
    module, _, name = str(next(names, "")).rpartition(" ")
    files = [path for path in members if path.startswith("code/") and path.endswith(".py")]
    only = files[0] if len(files) == 1 else ""
    file = members.get(f"code/{module.replace('.', '/')}.py", members.get(only))
    if file is None or file.file_size > MAX_CODE:
        return ""
    code = archive.read(file).decode(errors="replace")
    return code[max(code.find(f"class {name}("), 0) :]


def _split(code: str) -> Iterator[str]:
    """The texts between commas, up to the bracket that closes the list."""
    closing, text, quote = [")"], "", ""
    for at, character in enumerate(code):
        if quote:
            quote = "" if character == quote and code[at - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character in BRACKETS:
            closing.append(BRACKETS[character])
        elif character == closing[-1]:
            closing.pop()
            if not closing:
                break
        elif character == "," and len(closing) == 1:
            yield text
            text = ""
            continue
        text += character
    yield text


def _parsed(text: str) -> tuple[str, str, str]:
    name, _, rest = text.partition(":")
    kind, _, default = rest.partition("=")
    return name, " ".join(kind.split()), " ".join(default.split())

"""Metadata of a PyTorch file for `webkiln inspect`, read from its archive. No code runs, no pickle
is loaded, and torch is not needed.
"""

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.inspect.facts import (
    Description,
    FileFacts,
    Inspector,
    TensorFacts,
    TensorShape,
    rows,
)
from webkiln.frontends.nodes.summary import describe_nodes
from webkiln.frontends.torch.archive import LARGEST_JSON, check_archive
from webkiln.frontends.torch.format import SCRIPT
from webkiln.frontends.torch.script_signature import forward_signature

DTYPES = (
    "unknown",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
    "bfloat16",
)
"""By the codes of torch's `ScalarType` in exported programs."""
OLD_PROGRAM = "serialized_exported_program.json"
SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")
MAX_VERSION = 100


def read_facts(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> FileFacts:
    del params
    path = inputs["source"]
    check_archive(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename.rpartition("/")[2] for info in archive.infolist()}
            return (
                _script(archive)
                if names >= SCRIPT and OLD_PROGRAM not in names
                else _program(archive)
            )
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
        OSError,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ) as error:
        reason = " ".join(str(error).split())[:200]
        raise SourceError(
            f"{path.name}: the archive is damaged ({type(error).__name__}: {reason}); save the"
            " model again"
        ) from None


def _program(archive: zipfile.ZipFile) -> FileFacts:
    programs = [
        info
        for info in archive.infolist()
        if re.search(rf"(/models/[^/]*\.json|(^|/){OLD_PROGRAM})$", info.filename)
    ]
    if len(programs) != 1 or programs[0].file_size > LARGEST_JSON:
        raise ValueError(f"contains {len(programs)} programs, expected one")
    data = json.loads(archive.read(programs[0]))
    version = data.get("schema_version") or {}
    opset = data.get("opset_version") or {}
    return FileFacts(
        rows(
            kind="a program of torch.export",
            written_by=f"PyTorch {data['torch_version']}" if data.get("torch_version") else "",
            version=", ".join(
                [
                    *(
                        [f"schema {version.get('major')}.{version.get('minor')}"]
                        if isinstance(version, dict) and version
                        else []
                    ),
                    *(
                        [f"{name} opset {number}" for name, number in opset.items()]
                        if isinstance(opset, dict)
                        else []
                    ),
                ]
            ),
            archive=_text(archive, "archive_version"),
        ),
        preview=_described(data["graph_module"]),
    )


def _described(module: Mapping[str, Any]) -> Description:
    graph, signature = module["graph"], module["signature"]
    values = graph["tensor_values"]
    parts = Counter(str(node["target"]).removeprefix("torch.ops.") for node in graph["nodes"])
    weights = {}
    for spec in signature["input_specs"]:
        for kind in ("parameter", "buffer"):
            if kind in spec:
                name = spec[kind][f"{kind}_name"]
                dtype, shape = _type(values[spec[kind]["arg"]["name"]])
                weights[str(name)] = (
                    dtype,
                    tuple(size for size in shape or () if isinstance(size, int)),
                )
    inputs = [
        spec["user_input"]["arg"] for spec in signature["input_specs"] if "user_input" in spec
    ]
    outputs = [
        spec["user_output"]["arg"] for spec in signature["output_specs"] if "user_output" in spec
    ]
    return Description(
        tuple(_tensors(inputs, values)), tuple(_tensors(outputs, values)), parts, weights
    )


def _tensors(arguments: list[Any], values: Mapping[str, Any]) -> Iterator[TensorFacts]:
    for argument in arguments:
        if "as_tensor" in argument:
            name = argument["as_tensor"]["name"]
            yield TensorFacts(str(name), *_type(values[name]))


def _type(meta: Mapping[str, Any]) -> tuple[str, TensorShape]:
    number = meta["dtype"]
    dtype = (
        DTYPES[number]
        if isinstance(number, int) and 0 <= number < len(DTYPES)
        else f"type {number}"
    )
    sizes = [
        size["as_int"] if "as_int" in size else SYMBOL.sub(r"\1", str(size["as_expr"]["expr_str"]))
        for size in meta["sizes"]
    ]
    return dtype, tuple(sizes)


def _script(archive: zipfile.ZipFile) -> FileFacts:
    members = {info.filename.partition("/")[2]: info for info in archive.infolist()}
    code = [
        info for name, info in members.items() if name.startswith("code/") and name.endswith(".py")
    ]
    stored = sum(
        info.file_size
        for name, info in members.items()
        if name.startswith(("data/", "tensors/", "constants/"))
    )
    signature = forward_signature(archive, members)
    return FileFacts(
        rows(
            kind="a TorchScript file, which is a program",
            version=f"archive {_text(archive, 'version')}".strip(),
            arguments=", ".join(map(str, signature)),
            values=", ".join(argument.described for argument in signature if argument.is_value),
            code=f"{len(code)} files, {sum(info.file_size for info in code):,} bytes",
            arrays=f"{stored:,} bytes",
        )
    )


def _text(archive: zipfile.ZipFile, name: str) -> str:
    """A small member of the root folder."""
    for info in archive.infolist():
        if info.filename.partition("/")[2] == name and info.file_size <= MAX_VERSION:
            return archive.read(info).decode(errors="replace").strip()
    return ""


FACTS = Inspector(read_facts, describe_nodes)

"""The code that `webkiln init` writes: a module that runs a model on a sample."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.codegen.declarations import ARRAYS, inputs_of

NUMBERS = {
    "float": "(at * 0.618 + 0.5) % 1",
    "bool": "at % 2",
    "int64": "BigInt(at % 8)",
    "uint64": "BigInt(at % 8)",
    "int": "at % 8",
    "uint": "at % 8",
}
"""The values of a sample, by prefixes of dtypes."""
IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
OPEN_SIZE = 16
WIDTH = 100
INTRODUCTION = "/* An example: runs the model on a sample input. */\n"

DECLARED = re.compile(r'^declare module ("(?:[^"\\]|\\.)*") \{\n.*?^\}\n', re.MULTILINE | re.DOTALL)
TYPES_HEAD = (
    "/* eslint-disable */\n/* Written by unplugin-webkiln: the types of the models that this"
    " project imports. */\n"
)
UNBUILT = """  export const load: (options?: any) => Promise<any>;
  export const top: (
    scores: ArrayLike<number>,
    k?: number,
  ) => { index: number; label: string; score: number }[];
  export const manifest: any;
"""
TYPES_REST = "".join(
    f"declare module '{pattern}' {{\n{UNBUILT}}}\n" for pattern in ("webkiln:*", "*?webkiln")
)
"""For bundles that are not built yet."""

Samples = Mapping[str, np.ndarray]


def answer(manifest: Mapping[str, Any], bundle: str, samples: Samples, *, typescript: bool) -> str:
    """A module with `answer()`, which runs the model and resolves to a line of text."""
    output, *_ = manifest["outputs"]
    labels = output.get("labels", ())
    scores = (
        f"outputs.{output['name']}"
        if IDENTIFIER.fullmatch(output["name"])
        else f"outputs[{json.dumps(output['name'])}]"
    )
    if labels:
        shown = (
            f"top({scores}, {min(3, len(labels))}).map(({{ label, score }}) => `${{label}}"
            " (${score.toFixed(3)})`)"
        )
    else:
        shown = f"Array.from({scores}.slice(0, 5), Number)"
    parts = [
        INTRODUCTION,
        f"import {{ load{', top' if labels else ''} }} from '{bundle}';\n\nconst inputs = {{\n",
        *(_sample(tensor, samples.get(tensor["name"])) for tensor in inputs_of(manifest)),
        f"}};\n\nasync function answer(){': Promise<string>' if typescript else ''} {{\n",
        "  const model = await load();\n  const outputs = await model.run(inputs);\n",
        (
            f"  const shown = {shown};\n  return `{manifest['name']} on ${{model.backend}}:"
            " ${shown.join(', ')}`;\n}\n"
        ),
    ]
    return "".join(parts)


def shown_in_page(code: str) -> str:
    """The module, with a paragraph at the end of the page that shows the answer."""
    return (
        f"{code}\nconst line = document.createElement('p');\nline.id = 'webkiln';\nline.textContent"
        " = 'Loading the model…';\ndocument.body.append(line);\nanswer().then(text => {"
        " line.textContent = text; }, error => { line.textContent = String(error); });\n"
    )


def shown_in_react(code: str) -> str:
    """The module, with a component for a page."""
    introduction, rest = code.split("\n", 1)
    return (
        f"'use client';\n\n{introduction}\nimport {{ useEffect, useState }} from"
        f" 'react';\n{rest}\nexport default function Page() {{\n  const [line, setLine] ="
        " useState('Loading the model…');\n  useEffect(() => {\n    answer().then(setLine, error"
        ' => setLine(String(error)));\n  }, []);\n  return <p id="webkiln">{line}</p>;\n}\n'
    )


def with_types(text: str, module: str, declarations: str) -> str:
    """A file of types with one more declaration, in the plugin's format."""
    inside = re.sub(
        r"^(?=.)",
        "  ",
        declarations.replace("export declare ", "export ").rstrip(),
        flags=re.MULTILINE,
    )
    blocks = {json.loads(match[1]): match[0] for match in DECLARED.finditer(text)}
    blocks[module] = f"declare module {json.dumps(module)} {{\n{inside}\n}}\n"
    return "\n".join([TYPES_HEAD, *(block for _, block in sorted(blocks.items())), TYPES_REST])


def _sample(tensor: Mapping[str, Any], sample: np.ndarray | None) -> str:
    """An input with given or generated values."""
    dtype, shape = tensor["dtype"], tensor["shape"]
    sizes = [size if isinstance(size, int) else OPEN_SIZE for size in shape]
    length = int(np.prod(sizes, dtype=np.int64))
    array = "Array" if dtype == "float16" else ARRAYS.get(dtype, "Array")
    name = tensor["name"] if IDENTIFIER.fullmatch(tensor["name"]) else json.dumps(tensor["name"])
    about = f"  /** {dtype} [{', '.join(map(str, shape))}] */\n"
    if dtype == "string":
        return f"{about}  {name}: {json.dumps(['some text'] * length)},\n"
    if sample is not None and sample.size == length and dtype in ("float32", "float64"):
        return f"{about}  {name}: new {array}([\n{_rows(sample.ravel().tolist())}  ]),\n"
    number = next(text for kind, text in NUMBERS.items() if dtype.startswith(kind))
    return f"{about}  {name}: {array}.from({{ length: {length} }}, (_, at) => {number}),\n"


def _rows(values: Sequence[float]) -> str:
    lines, line = [], "   "
    for value in values:
        word = f" {value:.6g},"
        if len(line) + len(word) > WIDTH:
            lines.append(line)
            line = "   "
        line += word
    return "".join(f"{text}\n" for text in (*lines, line))

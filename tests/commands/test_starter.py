"""The starter module that `webkiln init` writes."""

import subprocess
from typing import Any

import numpy as np

from webkiln.commands.starter import answer


def test_the_module_runs_with_any_input_names() -> None:
    def tensor(name: str, dtype: str, *shape: Any) -> dict[str, Any]:
        return {"name": name, "dtype": dtype, "shape": list(shape)}

    inputs = [
        tensor("x:0", "float16", 2),
        tensor("new", "int64", "T", 2),
        tensor("mask", "bool", 3),
        tensor("ids", "uint8"),
        tensor("load", "float64", 2),
    ]
    manifest = {
        "name": "odd",
        "inputs": inputs,
        "outputs": [{**tensor("y/0", "float32", 2), "labels": ["a", "b"]}],
    }
    code = answer(manifest, "bundle", {"load": np.array([0.5, 2.0])}, typescript=False)
    head = "import { load, top } from 'bundle';"
    assert head in code
    stub = (
        "const shape = inputs => Object.entries(inputs).map(([name, value]) => `${name}"
        " ${value.constructor.name} ${value.length}`);\nconst load = async () => ({ backend: 'js',"
        " run: async inputs => (console.log(shape(inputs).join()), { 'y/0': [...inputs.load] })"
        " });\nconst top = scores => scores.map(score => ({ label: 'l', score }));\n"
    )
    script = code.replace(head, stub) + "console.log(await answer());\n"
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "x:0 Array 2,new BigInt64Array 32,mask Uint8Array 3,ids Uint8Array 1,load Float64Array 2",
        "odd on js: l (0.500), l (2.000)",
    ]

"""The types that the plugin generates, checked by TypeScript in the React example."""

import re
from pathlib import Path

from tests.web import project

RIGHT = """
import { load, type Outputs } from 'webkiln:digits?backend=wasm,js';
import { load as loadFile, top } from './digits.keras?webkiln&backend=js';
import { load as loadLater } from './later.keras?webkiln';

export const one: () => Promise<Outputs['scores']> = async () =>
  (await (await load({ backends: 'wasm' })).run({ image: new Float32Array(64) })).scores;
export const two: () => Promise<Float32Array> = async () =>
  (await (await loadFile({ backends: ['js'] })).run(new Array<number>(64))).scores;
export const three: string = top([1, 2])[0]!.label;
export const four = async () => (await loadLater()).anything;
"""
WRONG = """
import { load, manifest } from 'webkiln:digits?backend=wasm,js';
import { load as loadFile } from './digits.keras?webkiln&backend=js';

const model = await load();
model.run({ picture: new Float32Array(64) });
(await model.run(new Float32Array(64))).labels;
load({ backends: 'cuda' });
loadFile({ variant: 'simd' });
const [rows]: [2] = [manifest.inputs[0].shape[1]];
"""


def test_types(tmp_path: Path) -> None:
    project.need_packages()
    root = project.copy_project(tmp_path, project.EXAMPLES / "vite-react")
    (root / "src" / "digits.keras").write_bytes(project.MODEL.read_bytes())
    (root / "src" / "main.tsx").write_text("import './right';\n", "utf-8")
    (root / "src" / "right.ts").write_text(
        RIGHT.replace("import { load as loadLater", "// import").replace(
            "export const four", "// "
        ),
        "utf-8",
    )
    project.run("vite build", root)
    (root / "src" / "right.ts").write_text(RIGHT, "utf-8")
    (root / "src" / "wrong.ts").write_text(WRONG, "utf-8")
    output = project.run("tsc || true", root)
    errors = re.findall(r"^(\S+\.tsx?)\((\d+),", output, re.MULTILINE)
    assert errors == [("src/wrong.ts", str(line)) for line in (6, 7, 8, 9, 10)], output

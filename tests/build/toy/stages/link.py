import re

from webkiln.build import stage
from webkiln.errors import ToolError

DATA = ()


def run(inputs, outputs, params):
    objects = sorted(path for path in inputs["objects/"].rglob("*") if path.is_file())
    called = re.findall(rb"(\w+)\(\);", (inputs["objects/"] / "main.o").read_bytes())
    if undefined := {name.decode() for name in called} - {path.stem for path in objects}:
        raise ToolError(f"undefined symbol: {sorted(undefined)[0]}")
    outputs["model.wasm"].write_bytes(b"".join(path.read_bytes() for path in objects))


if __name__ == "__main__":
    stage.main()

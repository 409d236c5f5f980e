"""What is known of a model file without Keras."""

import json
import subprocess
import sys
from pathlib import Path

from tests.frontends.keras.conftest import ROOT

CODE = """
import json, sys
from pathlib import Path
from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.load import load_model
items = []
try:
    load_model(Path(sys.argv[1]))
except UnsupportedError as error:
    items = list(error.items)
assert not {"keras", "tensorflow"} & set(sys.modules)
print(json.dumps(items))
"""


def unsupported_parts(path: Path) -> list[tuple[str, str, str]]:
    """(where, what, hint) of each part that is refused when a file is loaded in a new process,
    which does not import a framework.
    """
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)],
        cwd=ROOT / "pipeline",
        capture_output=True,
        text=True,
        check=True,
    )
    return [(where, what, hint) for where, what, hint in json.loads(done.stdout)]

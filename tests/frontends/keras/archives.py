"""Modified copies of `.keras` archives."""

import io
import json
import zipfile
from pathlib import Path

import h5py


def rewritten(source: Path, target: Path, *, config=None, weights=None, extra=()):
    """Copy an archive, with its config and its weights modified by functions."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "config.json" and config is not None:
                tree = json.loads(data)
                config(tree)
                data = json.dumps(tree).encode()
            if name == "model.weights.h5" and weights is not None:
                buffer = io.BytesIO(data)
                with h5py.File(buffer, "r+") as file:
                    weights(file)
                data = buffer.getvalue()
            new.writestr(name, data)
        for name, data in extra:
            new.writestr(name, data)
    return target

"""A recording as a file: nodes as JSON, and the arrays of slots."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.canonical import dumps
from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.chainer.format import SPEC
from webkiln.frontends.chainer.parts import RecordedModel
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.nodes.spec import from_json, to_json

EPOCH = (1980, 1, 1, 0, 0, 0)


def write(path: Path, model: RecordedModel, blobs: Blobs) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            zipfile.ZipInfo(SPEC, EPOCH),
            dumps(
                {
                    **to_json(model),
                    "types": {name: list(item) for name, item in model.types.items()},
                    "names": dict(model.names),
                }
            ),
        )
        for digest, array in sorted(blobs.items()):
            with archive.open(
                zipfile.ZipInfo(f"{digest}.npy", EPOCH), "w", force_zip64=True
            ) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read(path: Path) -> tuple[RecordedModel, Blobs]:
    try:
        with zipfile.ZipFile(path) as archive:
            data: Any = json.loads(archive.read(SPEC))
            names = [name for name in archive.namelist() if name != SPEC]
            blobs = {}
            for name in names:
                with archive.open(name) as file:
                    blobs[name.removesuffix(".npy")] = np.lib.format.read_array(
                        file, allow_pickle=False
                    )
            types = {name: (dtype, tuple(shape)) for name, (dtype, shape) in data["types"].items()}
            model = from_json(data)
            return (
                RecordedModel(
                    model.name, model.opsets, model.graph, types=types, names=data["names"]
                ),
                blobs,
            )
    except WebkilnError as error:
        raise SourceError(
            f"{path.name}: is not a recording of this version"
            f" of webkiln ({error}); build from the function"
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever a damaged file makes of its readers
        raise SourceError(
            f"{path.name}: is not a recording that webkiln wrote ({error}); build from the function"
        ) from None

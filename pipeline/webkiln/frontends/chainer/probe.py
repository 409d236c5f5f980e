"""Read every array of an HDF5 snapshot in a subprocess. Usage: python -m
webkiln.frontends.chainer.probe FILE
"""

import sys
from pathlib import Path

import h5py

from webkiln.frontends.chainer.hdf5 import entries
from webkiln.frontends.chainer.npz_members import readable_snapshot
from webkiln.frontends.core.probe import run_check


def main() -> int:
    path = Path(sys.argv[1])
    return run_check(path, lambda: _read(path))


def _read(path: Path) -> None:
    with readable_snapshot(path.name), h5py.File(path, "r") as file:
        arrays, _ = entries(path.name, file)
        for array in arrays.values():
            array.read()


if __name__ == "__main__":
    sys.exit(main())

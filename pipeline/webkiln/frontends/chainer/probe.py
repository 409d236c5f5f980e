"""Reads every array of an HDF5 snapshot, in a process that may die: prints what is wrong with it."""

import sys
from pathlib import Path

from webkiln.errors import UserError
from webkiln.frontends.probe import limit_resources


def main() -> int:
    path = Path(sys.argv[1])
    limit_resources(path)
    import h5py

    from webkiln.frontends.chainer.hdf5 import entries

    try:
        with h5py.File(path, "r") as file:
            arrays, _ = entries(path.name, file)
            for held in arrays.values():
                held.read()
    except UserError as error:
        print(error)
        return 1
    except Exception as error:  # noqa: BLE001 - the library raises anything for damaged files
        print(" ".join(str(error).split()) or type(error).__name__)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

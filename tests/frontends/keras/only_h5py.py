"""python only_h5py.py BATCH FILE...: print a digest of the graph of each file, with numpy and h5py
as the only installed packages.
"""

import sys
from pathlib import Path

KNOWN = {*sys.stdlib_module_names, "numpy", "h5py", "webkiln"}


class Absent:
    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] not in KNOWN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(batch: str, *paths: str) -> None:
    from webkiln.canonical import digest
    from webkiln.frontends.keras.converter import KerasConverter
    from webkiln.ir.text import print_graph

    for path in paths:
        print(
            digest(print_graph(KerasConverter(batch_size=int(batch)).convert(Path(path))).encode())
        )


if __name__ == "__main__":
    sys.meta_path.insert(0, Absent())  # type: ignore[arg-type]
    main(*sys.argv[1:])

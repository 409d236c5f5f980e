"""make conformance-keras [backend=js,wasm]: convert and check the calls in the tests of Keras;
write build/keras-conformance.md.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

from tests.conformance.keras.judge import Converted, Refused, convert, explained, judge, summary
from tests.conformance.keras.recorded import PARTS, recorded
from tests.conformance.keras.report import Row, Wrong, name_of, share, state, write_page
from webkiln.errors import UnsupportedError
from webkiln.recipe.values import BACKENDS, choose


def table(results: Sequence[Converted | Refused]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for result in results:
        row = rows.setdefault(name_of(result.call.kind, result.call.name), Row())
        row.calls += 1
        if isinstance(result, Refused):
            row.none += result.kind == "not a model"
            row.refused += result.kind == "refused"
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance-keras", description=__doc__)
    parser.add_argument(
        "backend", nargs="?", default="", help=f"some of {','.join(BACKENDS)}; all by default"
    )
    parser.add_argument("--part", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--name", default="", help="calls of this layer or operation only")
    options = parser.parse_args()
    backends = (
        choose("backend", options.backend.split(","), BACKENDS) if options.backend else BACKENDS
    )
    at = state()
    parts = [recorded(part) for part in choose("part", options.part.split(","), tuple(PARTS))]
    calls = [call for found, _ in parts for call in found if options.name in ("", call.name)]
    start = time.perf_counter()
    results = [convert(call) for call in calls]
    rows = table(results)
    converted = [result for result in results if isinstance(result, Converted)]
    refused = [result for result in results if isinstance(result, Refused)]
    broken = [
        f"{item.call.name} ({item.call.test.rpartition('::')[2]}): {item.reason}"
        for item in refused
        if item.kind == "broken"
    ]
    print(
        f"{len(calls)} calls: {len(converted)} converted, {len(refused)} not,"
        f" {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    found: Counter[Wrong] = Counter()
    for backend in backends:
        start = time.perf_counter()
        with TemporaryDirectory() as folder:
            verdicts = judge(converted, backend, Path(folder))
        for item, wrong in zip(converted, verdicts, strict=True):
            rows[name_of(item.call.kind, item.call.name)].right[backend] += wrong is None
            if wrong is None:
                continue
            reason = explained(item.call, backend)
            found[
                Wrong(name_of(item.call.kind, item.call.name), backend, reason or summary(wrong))
            ] += 1
            if reason is None and not wrong.startswith(UnsupportedError.__name__):
                broken.append(
                    f"{backend}: {item.call.name} ({item.call.test.rpartition('::')[2]}): {wrong}"
                )
        shares = [
            f"{right} of {total} {name}"
            for name, (right, total) in (
                (n, share(rows, backend, layers=n == "layers")) for n in ("layers", "operations")
            )
        ]
        print(
            f"{backend}: {' and '.join(shares)} right, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
    print("".join(f"  {line[:300]}\n" for line in broken), end="")
    if not options.name and options.part == ",".join(PARTS):
        write_page(rows, refused, found, [left for _, left in parts], backends, at)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())

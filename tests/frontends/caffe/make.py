"""Writes the corpus: `python -m tests.frontends.caffe.make`. The expected outputs come from OpenCV,
or from `reference.py` if OpenCV lacks a layer or computes it differently. If both compute a net,
they must agree.
"""

import sys
from pathlib import Path

import numpy as np

from tests.frontends.caffe.definitions import OPENCV, NetCase
from tests.frontends.caffe.nets import NETS
from tests.frontends.caffe.reference import Net
from tests.frontends.corpus import write_sample
from webkiln.backends.compare import relative_error
from webkiln.frontends.caffe.load import read_net
from webkiln.frontends.caffe.reference import Runner
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.protobuf.wire import encode_field

CORPUS = Path(__file__).parent / "corpus"
TOLERANCE = 2e-5


def values_of(case: NetCase) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        name: (case.values[name](rng) if name in case.values else rng.uniform(-1, 1, shape)).astype(
            np.float32
        )
        for name, shape in case.inputs.items()
    }


def write(name: str, case: NetCase, folder: Path) -> Path:
    """Write the files of a net: its definition and weights, or one file with both, and its expected
    outputs. Return the file to read.
    """
    oracle, values = Net(case.current or case.text, seed=3), values_of(case)
    outputs = oracle.outputs(values)
    weights, text = oracle.weight_file(), folder / f"{name}.prototxt"
    path = folder / f"{name}.caffemodel" if case.single_file else text
    if case.single_file:
        path.write_bytes(b"".join(single_file(oracle)))
    else:
        text.write_text(case.text)
        if weights:
            (folder / f"{name}.caffemodel").write_bytes(weights)
    if case.oracle == OPENCV:
        net = read_net(
            path, None if case.single_file or not weights else folder / f"{name}.caffemodel"
        )
        results, _ = Runner(net, case.inputs, name, {}, fused=False)(values)
        for blob, expected in outputs.items():
            off = relative_error(results[blob], expected)
            assert off < TOLERANCE, (
                f"{name}: {blob} is {results[blob].shape} by OpenCV, {expected.shape} by numpy;"
                f" the relative error is {off}"
            )
        outputs = {blob: results[blob].astype(np.float32) for blob in outputs}
    write_sample(path, values, outputs)
    return path


def single_file(oracle: Net) -> list[bytes]:
    """A weight file that contains the definition."""
    parts = [encode_field(1, b"alone")]
    for layer in oracle.message.layer:
        blobs = [
            messages()["BlobProto"](shape={"dim": blob.shape}, data=blob.ravel())
            for blob in oracle.weights.get(layer.name, ())
        ]
        layer.blobs.extend(blobs)
        parts.append(encode_field(100, layer.SerializeToString()))
    return parts


def main() -> int:
    CORPUS.mkdir(exist_ok=True)
    for path in CORPUS.iterdir():
        path.unlink()
    wrong = 0
    for name, case in NETS.items():
        try:
            write(name, case, CORPUS)
        except Exception as error:  # noqa: BLE001 - the other nets are still written
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}")
            wrong += 1
    print(f"{len(NETS)} nets, {sum(path.stat().st_size for path in CORPUS.iterdir()) // 1024} KiB")
    return wrong


if __name__ == "__main__":
    sys.exit(main())

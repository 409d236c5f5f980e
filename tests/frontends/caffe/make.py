"""Makes the corpus: `python -m tests.frontends.caffe.make`. Expected outputs are OpenCV's, or where
it
lacks a layer or computes it otherwise those of `reference.py`; where both compute a net they have
to agree.
"""

import sys
from pathlib import Path

import numpy as np

from tests.frontends.caffe.nets import NETS, OPENCV, Made
from tests.frontends.caffe.reference import Net
from tests.frontends.corpus import write_sample
from webkiln.backends.compare import relative_error
from webkiln.frontends.caffe.load import read_net
from webkiln.frontends.caffe.reference import Runner
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.protobuf.wire import encode_field

CORPUS = Path(__file__).parent / "corpus"
AGREES = 2e-5


def values_of(made: Made) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        name: (made.values[name](rng) if name in made.values else rng.uniform(-1, 1, shape)).astype(
            np.float32
        )
        for name, shape in made.inputs.items()
    }


def write(name: str, made: Made, folder: Path) -> Path:
    """The files of a net: its definition and weights, or one with both, and what it gives; returns
    the one to read.
    """
    oracle, values = Net(made.plain or made.text, seed=3), values_of(made)
    outputs = oracle.outputs(values)
    weights, text = oracle.weight_file(), folder / f"{name}.prototxt"
    path = folder / f"{name}.caffemodel" if made.alone else text
    if made.alone:
        path.write_bytes(b"".join(alone(oracle)))
    else:
        text.write_text(made.text)
        if weights:
            (folder / f"{name}.caffemodel").write_bytes(weights)
    if made.oracle == OPENCV:
        net = read_net(path, None if made.alone or not weights else folder / f"{name}.caffemodel")
        found, _ = Runner(net, made.inputs, name, {}, fused=False)(values)
        for blob, expected in outputs.items():
            off = relative_error(found[blob], expected)
            assert off < AGREES, (
                f"{name}: {blob} is {found[blob].shape}, by numpy {expected.shape}; off by {off}"
            )
        outputs = {blob: found[blob].astype(np.float32) for blob in outputs}
    write_sample(path, values, outputs)
    return path


def alone(oracle: Net) -> list[bytes]:
    """A weight file that is a definition, too."""
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
    for name, made in NETS.items():
        try:
            write(name, made, CORPUS)
        except Exception as error:  # noqa: BLE001 - the others are tried, too
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}")
            wrong += 1
    print(f"{len(NETS)} nets, {sum(path.stat().st_size for path in CORPUS.iterdir()) // 1024} KiB")
    return wrong


if __name__ == "__main__":
    sys.exit(main())

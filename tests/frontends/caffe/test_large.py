"""Well-known nets with random weights, compared with OpenCV on every backend."""

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.caffe.large import LARGE
from tests.frontends.caffe.reading import converted
from tests.frontends.corpus import BACKEND_STRIDES, Sample, mismatches
from webkiln.frontends.caffe.load import read_net
from webkiln.frontends.caffe.reference import Runner
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.caffe.text import read_text


def random_weights(text: str) -> bytes:
    """Random weights for a definition. They are scaled so that convolutions preserve the magnitude
    of their inputs.
    """
    rng, channels = np.random.default_rng(7), {"data": 3}
    net = messages()["NetParameter"]()
    for layer in read_text(text.encode(), "net").net.layer:
        blobs: list[np.ndarray] = []
        if layer.type == "Input":
            continue
        count = sum(
            channels[bottom]
            for bottom in (layer.bottom if layer.type == "Concat" else layer.bottom[:1])
        )
        if layer.type == "Convolution":
            param = layer.convolution_param
            fan = count * param.kernel_size[0] ** 2
            blobs.append(
                rng.normal(
                    0, np.sqrt(2 / fan), (param.num_output, count, *[param.kernel_size[0]] * 2)
                )
            )
            blobs += [rng.normal(0, 0.1, param.num_output)] * param.bias_term
            count = param.num_output
        elif layer.type == "InnerProduct":
            blobs = [
                rng.normal(0, 1 / np.sqrt(count), (layer.inner_product_param.num_output, count)),
                np.zeros(layer.inner_product_param.num_output),
            ]
        elif layer.type == "BatchNorm":
            blobs = [rng.normal(0, 0.1, count) * 2, rng.uniform(1, 3, count) * 2, np.array([2.0])]
        elif layer.type in ("Scale", "Normalize"):
            blobs = [rng.uniform(0.5, 1, count), rng.normal(0, 0.1, count)][
                : 2 if layer.type == "Scale" else 1
            ]
        channels |= dict.fromkeys(layer.top, count)
        if blobs:
            net.layer.add(
                name=layer.name,
                type=layer.type,
                blobs=[
                    messages()["BlobProto"](shape={"dim": blob.shape}, data=blob.ravel())
                    for blob in blobs
                ],
            )
    return bytes(net.SerializeToString())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample]:
    folder = tmp_path_factory.mktemp("large")
    samples = {}
    for name, make in LARGE.items():
        path = folder / f"{name}.prototxt"
        path.write_text(make())
        path.with_suffix(".caffemodel").write_bytes(random_weights(make()))
        net = read_net(path, path.with_suffix(".caffemodel"))
        shape = next(iter(net.inputs.values())).shape
        inputs = {"data": np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)}
        outputs, _ = Runner(net, {"data": shape}, name, {}, fused=False)(inputs)
        samples[name] = Sample(name, converted(path), inputs, outputs)
    return samples


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_well_known_nets_match_opencv(
    large: dict[str, Sample], backend: str, every: int, tmp_path: Path
) -> None:
    for sample in large.values():
        assert all(np.ptp(array) > 0.01 for array in sample.outputs.values()), sample.name
    assert mismatches(list(large.values())[::every], backend, tmp_path) == {}

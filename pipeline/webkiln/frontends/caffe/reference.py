"""Reference outputs, computed by OpenCV's dnn on random inputs, with their float32 noise and the
outputs of layers.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError, missing_framework
from webkiln.frontends.caffe.net import CaffeNet, NetLayer
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.protobuf.wire import encode_field
from webkiln.ir.types import Array
from webkiln.random_inputs import NATURAL, reference_arrays

LAYER, NAME, BLOBS, SHAPE, DATA, DIMS = 100, 1, 7, 7, 5, 1
"""Field numbers of a net, a layer, a blob and a shape."""
Objection = Callable[[NetLayer], str]
"""The reason why OpenCV computes a layer differently from Caffe, or ""."""


def _objection_unless(fits: Callable[[Any], object], why: str) -> Objection:
    return lambda layer: "" if fits(layer.message) else why


SAME: Mapping[str, Objection] = {
    **dict.fromkeys(
        (
            "AbsVal",
            "BNLL",
            "Concat",
            "Dropout",
            "ELU",
            "Eltwise",
            "Exp",
            "Flatten",
            "Power",
            "ReLU",
            "Sigmoid",
            "Slice",
            "Softmax",
            "Split",
            "TanH",
            "ShuffleChannel",
            "Permute",
            "PReLU",
            "Normalize",
            "ReLU6",
            "Scale",
            "Crop",
        ),
        lambda layer: "",
    ),
    "BatchNorm": _objection_unless(
        lambda layer: (
            not layer.batch_norm_param.HasField("use_global_stats")
            or layer.batch_norm_param.use_global_stats
        ),
        "does not compute the statistics of the batch",
    ),
    "Convolution": lambda layer: (
        "supports one bottom"
        if len(layer.bottoms) > 1
        else "supports up to two axes"
        if layer.blobs[0].ndim > 4
        else ""
    ),
    "ConvolutionDepthwise": lambda layer: "",
    "DepthwiseConvolution": lambda layer: "",
    "Deconvolution": _objection_unless(
        lambda layer: not {*layer.convolution_param.dilation} - {1}, "does not support dilation"
    ),
    "DetectionOutput": _objection_unless(
        lambda layer: (
            layer.detection_output_param.keep_top_k > 0
            and layer.detection_output_param.code_type != 3
        ),
        "needs a keep_top_k and does not support CORNER_SIZE",
    ),
    "InnerProduct": _objection_unless(
        lambda layer: not layer.inner_product_param.transpose, "does not support transpose"
    ),
    "LRN": _objection_unless(lambda layer: layer.lrn_param.k == 1, "assumes that k is 1"),
    "MVN": _objection_unless(
        lambda layer: layer.mvn_param.eps <= 1e-6, "adds epsilon at another position"
    ),
    "Pooling": _objection_unless(
        lambda layer: (
            layer.pooling_param.round_mode == 0
            and layer.pooling_param.ceil_mode
            and len(layer.top) == 1
            and layer.pooling_param.pool != 2
        ),
        "always rounds up, and returns no indices",
    ),
    "PriorBox": _objection_unless(
        lambda layer: (
            layer.prior_box_param.variance
            and not [
                size
                for size in (*layer.prior_box_param.min_size, *layer.prior_box_param.max_size)
                if size % 1
            ]
        ),
        "requires variances and does not truncate sizes",
    ),
    "Reshape": _objection_unless(
        lambda layer: layer.reshape_param.axis >= 0, "does not support negative axes"
    ),
}
"""Layer types that OpenCV supports -> why it differs from Caffe, if it does."""


def check_known(net: CaffeNet, name: str) -> None:
    """Raise SourceError for layers that OpenCV lacks or computes differently from Caffe."""
    reasons = [
        f"{layer.name} ({layer.type}): OpenCV {why}"
        for layer in net.layers
        if (
            why := (
                SAME[layer.type](layer)
                if layer.type in SAME
                else "does not support it, or differs from Caffe"
            )
        )
    ]
    if reasons:
        raise SourceError(
            f"{name}: no reference is available for verification"
            f" (the bundle is built): {'; '.join(reasons)}"
        )


def compute_reference(
    net: CaffeNet, inputs: SampledInputs, name: str
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz. The noise includes the difference to OpenCV's
    fused form of the net. A net with box selection has no set of extreme inputs: the order of boxes
    with equal scores is undefined.
    """
    check_known(net, name)
    shapes = {item: shape for item, (_, shape) in inputs.free.items()} | {
        item: value.shape for item, value in inputs.fixed.items()
    }
    run, fused = (Runner(net, shapes, name, inputs.fixed, fused=fused) for fused in (False, True))
    sets = inputs.sets(name, run)
    if any(layer.type == "DetectionOutput" for layer in net.layers):
        sets = {key: sets[key] for key in NATURAL}
    return reference_arrays(sets, run, [fused])


class Runner:
    """A net as a function of named inputs, which also returns the first top of every layer."""

    def __init__(
        self,
        net: CaffeNet,
        shapes: Mapping[str, tuple[int, ...]],
        name: str,
        fixed: Mapping[str, Array],
        *,
        fused: bool,
    ) -> None:
        try:
            import cv2
        except ImportError:
            raise missing_framework("OpenCV", "cv2") from None

        self.net, self.fixed, self.name = net, fixed, name
        text, weights = definition(net, shapes), weights_of(net.layers)
        try:
            self.run = cv2.dnn.readNetFromCaffe(
                np.frombuffer(text, np.uint8), np.frombuffer(weights, np.uint8)
            )
        except cv2.error as error:
            raise SourceError(
                f"{name}: no reference is available for verification: OpenCV cannot load it:"
                f" {_first_line(error)}"
            ) from None
        self.run.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
        self.run.enableFusion(fused)
        self.error = cv2.error
        self.aliases = {
            top: layer.name if not index else f"{layer.name}.{index}"
            for layer in net.layers
            for index, top in enumerate(layer.tops)
        }
        self.layers = (
            {} if fused else {layer.name: layer.tops[0] for layer in net.layers if layer.tops}
        )

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        requested = list(dict.fromkeys((*self.net.outputs.values(), *self.layers.values())))
        try:
            for tensor, item in self.net.inputs.items():
                self.run.setInput(np.ascontiguousarray({**values, **self.fixed}[item.name]), tensor)
            values_by_blob = dict(
                zip(
                    requested,
                    self.run.forward([self.aliases[tensor] for tensor in requested]),
                    strict=True,
                )
            )
        except self.error as error:
            raise SourceError(
                f"{self.name}: no reference is available for verification: OpenCV cannot run it:"
                f" {_first_line(error)}"
            ) from None
        values_by_blob |= {
            layer.tops[0]: detections(values_by_blob[layer.tops[0]], values)
            for layer in self.net.layers
            if layer.type == "DetectionOutput"
        }
        layers = {name: np.array(values_by_blob[top]) for name, top in self.layers.items()}
        return {
            blob: np.array(values_by_blob[tensor]) for blob, tensor in self.net.outputs.items()
        }, layers


def _first_line(error: Any) -> str:
    return " ".join(str(error).split())[-300:]


def detections(detected: Array, values: Mapping[str, Array]) -> Array:
    """Sort detections by image and label, as Caffe does. OpenCV sorts by score, and pads."""
    rows = detected.reshape(-1, detected.shape[-1])
    rows = rows[rows[:, 2] != 0]
    if not len(rows):
        images = next(iter(values.values())).shape[0]
        rows = np.full((images, detected.shape[-1]), -1, np.float32)
        rows[:, 0] = np.arange(images)
        return rows[None, None]
    return np.asarray(rows[np.lexsort((-rows[:, 2], rows[:, 1], rows[:, 0]))])[None, None]


def definition(net: CaffeNet, shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """The net in the current format, with each tensor written once and these input shapes."""
    from google.protobuf import text_format

    message = messages()["NetParameter"](name=net.name)
    for tensor, declared in net.inputs.items():
        layer = message.layer.add(name=tensor, type="Input", top=[tensor])
        layer.input_param.shape.add(dim=shapes[declared.name])
    for item in net.layers:
        layer = message.layer.add()
        layer.CopyFrom(item.message)
        for field in (
            "bottom",
            "top",
            "blobs",
            "include",
            "exclude",
            "param",
            "phase",
            "loss_weight",
            "propagate_down",
        ):
            layer.ClearField(field)
        _state_all(layer, item)
        layer.name = item.name
        layer.bottom.extend(item.bottoms)
        layer.top.extend(item.tops)
    return str(text_format.MessageToString(message)).encode()


def _state_all(layer: Any, item: NetLayer) -> None:
    """Adapt a layer to OpenCV: group depthwise convolutions, and make defaults explicit."""
    if item.type in ("ConvolutionDepthwise", "DepthwiseConvolution"):
        layer.type = "Convolution"
        layer.convolution_param.group = item.blobs[0].shape[0]
    elif item.type == "Pooling":
        layer.pooling_param.pool = item.message.pooling_param.pool
        layer.pooling_param.ClearField("round_mode")
        layer.pooling_param.ClearField("ceil_mode")


def weights_of(layers: tuple[NetLayer, ...]) -> bytes:
    """A weight file with the blobs of layers."""
    data = bytearray()
    for layer in layers:
        text = encode_field(NAME, layer.name.encode()) + encode_field(2, layer.type.encode())
        for blob in layer.blobs:
            shape = messages()["BlobShape"](dim=blob.shape or (1,)).SerializeToString()
            text += encode_field(
                BLOBS, encode_field(SHAPE, shape) + encode_field(DATA, blob.astype("<f4").tobytes())
            )
        data += encode_field(LAYER, text)
    return bytes(data)

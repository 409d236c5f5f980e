"""Caffe nets in numpy, in float64: the oracle for layers that OpenCV lacks or computes differently.
It follows the documentation and the definitions of the layers. Missing weights are random, so that
it can also write weight files.
"""

from collections.abc import Callable, Mapping

import numpy as np

from tests.frontends.caffe.arithmetic_layers import (
    batch_norm,
    bias,
    eltwise,
    embed,
    exponential,
    inner_product,
    logarithm,
    mvn,
    normalize,
    power,
    prelu,
    recurrent,
    relu,
    scale,
    softmax_of,
)
from tests.frontends.caffe.detection_layers import detection_output, prior_box
from tests.frontends.caffe.layer_calls import Blob, Call, sigmoid
from tests.frontends.caffe.shape_layers import (
    argmax,
    concat,
    crop,
    flatten,
    permute,
    reduction,
    reshape,
    shuffle,
    slice_,
)
from tests.frontends.caffe.window_layers import (
    convolution,
    deconvolution,
    im2col,
    interpolate,
    lrn,
    pooling,
    pyramid,
    upsample,
)
from webkiln.frontends.caffe.reference import weights_of
from webkiln.frontends.caffe.text import read_text


class Net:
    """A definition in the current format, with its weights by layer."""

    def __init__(self, text: str, seed: int = 0) -> None:
        self.message = read_text(text.encode(), "net").net
        self.rng = np.random.default_rng(seed)
        self.weights: dict[str, list[Blob]] = {}
        self.types = {layer.name: layer.type for layer in self.message.layer}

    def run(self, inputs: Mapping[str, Blob]) -> dict[str, Blob]:
        """Every blob, as its last layer outputs it."""
        blobs = {name: value.astype(np.float64) for name, value in inputs.items()}
        for layer in self.message.layer:
            if layer.type == "Input":
                continue
            results = LAYERS[layer.type](
                Call(layer, self.weights, self.rng), *(blobs[name] for name in layer.bottom)
            )
            results = results if isinstance(results, list) else [results]
            blobs |= zip(
                layer.top, (np.asarray(item, np.float64) for item in results), strict=False
            )
        return blobs

    def outputs(self, inputs: Mapping[str, Blob]) -> dict[str, Blob]:
        blobs = self.run(inputs)
        unread: dict[str, None] = {}
        for layer in self.message.layer:
            for name in layer.bottom:
                unread.pop(name, None)
            unread |= dict.fromkeys(() if layer.type == "Input" else layer.top)
        return {name: blobs[name].astype(np.float32) for name in unread}

    def weight_file(self) -> bytes:
        from webkiln.frontends.caffe.net import NetLayer

        return weights_of(
            tuple(
                NetLayer(
                    name,
                    self.types[name],
                    (),
                    (),
                    None,
                    tuple(blob.astype(np.float32) for blob in blobs),
                )
                for name, blobs in self.weights.items()
            )
        )


LAYERS: dict[str, Callable[..., Blob | list[Blob]]] = {
    "Convolution": convolution,
    "Deconvolution": deconvolution,
    "InnerProduct": inner_product,
    "Pooling": pooling,
    "SPP": pyramid,
    "ConvolutionDepthwise": lambda call, *xs: convolution(call, *xs, groups=-1),
    "LRN": lrn,
    "BatchNorm": batch_norm,
    "Scale": scale,
    "DepthwiseConvolution": lambda call, *xs: convolution(call, *xs, groups=-1),
    "Bias": bias,
    "Eltwise": eltwise,
    "Concat": concat,
    "Slice": slice_,
    "Reshape": reshape,
    "Flatten": flatten,
    "Reduction": reduction,
    "ArgMax": argmax,
    "MVN": mvn,
    "Embed": embed,
    "Crop": crop,
    "Tile": lambda call, x: np.concatenate(
        [x] * call.layer.tile_param.tiles, call.layer.tile_param.axis
    ),
    "Power": power,
    "Exp": exponential,
    "Log": logarithm,
    "AbsVal": lambda call, x: abs(x),
    "BNLL": lambda call, x: np.logaddexp(x, 0),
    "PReLU": prelu,
    "ELU": lambda call, x: (
        np.maximum(x, 0) + call.layer.elu_param.alpha * np.expm1(np.minimum(x, 0))
    ),
    "ReLU": relu,
    "Sigmoid": lambda call, x: sigmoid(x),
    "TanH": lambda call, x: np.tanh(x),
    "ReLU6": lambda call, x: x.clip(0, 6),
    "Threshold": lambda call, x: x > call.layer.threshold_param.threshold,
    "Swish": lambda call, x: x * sigmoid(call.layer.swish_param.beta * x),
    "Clip": lambda call, x: x.clip(call.layer.clip_param.min, call.layer.clip_param.max),
    "Softmax": lambda call, x: softmax_of(x, call.layer.softmax_param.axis),
    "Im2col": im2col,
    "LSTM": recurrent,
    "RNN": recurrent,
    "BatchReindex": lambda call, x, index: x[index.ravel().astype(int)],
    "Dropout": lambda call, x: x,
    "Split": lambda call, x: [x] * len(call.layer.top),
    "Parameter": lambda call: call.weight(0, call.layer.parameter_param.shape.dim),
    "Interp": interpolate,
    "Upsample": upsample,
    "ShuffleChannel": shuffle,
    "Permute": permute,
    "Normalize": normalize,
    "PriorBox": prior_box,
    "DetectionOutput": detection_output,
    "Axpy": lambda call, a, x, y: a.reshape(*x.shape[:2], 1, 1) * x + y,
    "Silence": lambda call, *xs: [],
}

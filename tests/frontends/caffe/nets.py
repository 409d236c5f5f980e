"""The nets of the corpus: definitions, what they are given, and who says what they give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OPENCV, NUMPY = "opencv", "numpy"


@dataclass(frozen=True)
class Made:
    """`text` is written as the definition; the oracle computes `plain`, where that is another one.
    `values` are inputs that are not just any numbers.
    """

    text: str
    inputs: Mapping[str, tuple[int, ...]]
    oracle: str = OPENCV
    plain: str = ""
    values: Mapping[str, Callable[[np.random.Generator], np.ndarray]] = field(default_factory=dict)
    alone: bool = False


def layer(type_: str, name: str, bottoms: str, tops: str = "", **params: str) -> str:
    said = " ".join(f"{key} {{ {value} }}" for key, value in params.items())
    bottom = "".join(f' bottom: "{item}"' for item in bottoms.split())
    top = "".join(f' top: "{item}"' for item in (tops or name).split())
    return f'layer {{ name: "{name}" type: "{type_}"{bottom}{top} {said} }}\n'


def given(**shapes: tuple[int, ...]) -> str:
    return "".join(
        layer(
            "Input",
            name,
            "",
            name,
            input_param="shape { " + " ".join(f"dim: {n}" for n in shape) + " }",
        )
        for name, shape in shapes.items()
    )


def net(
    *layers: str,
    oracle: str = OPENCV,
    values: Mapping[str, Any] | None = None,
    **shapes: tuple[int, ...],
) -> Made:
    return Made(given(**shapes) + "".join(layers), shapes, oracle, values=values or {})


def whole(low: int, high: int, *shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(low, high, shape).astype(np.float32)


def marks(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Where sequences go on: not at the first step, and here and there not later."""

    def make(rng: np.random.Generator) -> np.ndarray:
        found = (rng.random(shape) < 0.7).astype(np.float32)
        found[0] = 0
        return found

    return make


X = (2, 6, 9, 8)
VALUES = {
    "power 2": ("Power", "power_param", "power: 2 scale: 0.5 shift: 1"),
    "power": ("Power", "power_param", "power: 1.7 scale: 0.1 shift: 3"),
    "linear": ("Power", "power_param", "scale: -2 shift: 0.25"),
    "exp": ("Exp", "exp_param", "scale: 0.5 shift: 0.1"),
    "exp 2": ("Exp", "exp_param", "base: 2 scale: 0.5 shift: -1"),
    "elu": ("ELU", "elu_param", "alpha: 0.7"),
    "leaky": ("ReLU", "relu_param", "negative_slope: 0.1"),
    "relu": ("ReLU", "relu_param", ""),
    "abs": ("AbsVal", "", ""),
    "sigmoid": ("Sigmoid", "", ""),
    "tanh": ("TanH", "", ""),
    "prelu": ("PReLU", "prelu_param", ""),
}
SSD = (
    "num_classes: 4 share_location: %s background_label_id: %d nms_param { nms_threshold: %g %s }"
    " keep_top_k: %d confidence_threshold: %g %s"
)


def detection(options: str, *, shared: bool = True, oracle: str = OPENCV) -> Made:
    """A head over two grids, as SSD has them."""
    locations = 4 if shared else 16
    grids = {"a": (2, 5, 4, 5), "b": (2, 6, 2, 3)}
    text, heads = given(image=(2, 3, 40, 50), **grids), {"loc": "", "conf": "", "priors": ""}
    for name, count in (("a", 4), ("b", 6)):
        sizes = (
            "min_size: 8 max_size: 15 aspect_ratio: 2"
            if count == 4
            else "min_size: 14 max_size: 30 aspect_ratio: 2 aspect_ratio: 3"
        )
        for head, features in (("loc", count * locations), ("conf", count * 4)):
            text += layer(
                "Convolution",
                f"{name}_{head}",
                name,
                convolution_param=f"num_output: {features} kernel_size: 3 pad: 1",
            )
            text += layer(
                "Permute",
                f"{name}_{head}_perm",
                f"{name}_{head}",
                permute_param="order: 0 order: 2 order: 3 order: 1",
            )
            text += layer(
                "Flatten", f"{name}_{head}_flat", f"{name}_{head}_perm", flatten_param="axis: 1"
            )
            heads[head] += f"{name}_{head}_flat "
        text += layer(
            "PriorBox",
            f"{name}_prior",
            f"{name} image",
            prior_box_param=(
                f"{sizes} flip: true clip: false variance: 0.1 variance: 0.1 variance: 0.2"
                " variance: 0.2"
            ),
        )
        heads["priors"] += f"{name}_prior "
    text += layer("Concat", "loc", heads["loc"], concat_param="axis: 1") + layer(
        "Concat", "conf", heads["conf"], concat_param="axis: 1"
    )
    text += layer("Concat", "priors", heads["priors"], concat_param="axis: 2")
    text += layer("Reshape", "by_box", "conf", reshape_param="shape { dim: 0 dim: -1 dim: 4 }")
    text += layer("Softmax", "scores", "by_box", softmax_param="axis: 2") + layer(
        "Flatten", "flat", "scores", flatten_param="axis: 1"
    )
    text += layer("DetectionOutput", "found", "loc flat priors", detection_output_param=options)
    return Made(text, {"image": (2, 3, 40, 50), **grids}, oracle)


def conv(name: str, bottom: str, features: int, size: int, more: str = "", top: str = "") -> str:
    return layer(
        "Convolution",
        name,
        bottom,
        top or name,
        convolution_param=f"num_output: {features} kernel_size: {size} {more}",
    )


V1 = """name: "older"
input: "data" input_dim: 2 input_dim: 3 input_dim: 12 input_dim: 11
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1 blobs_lr: 2 convolution_param { num_output: 6 kernel_size: 3 stride: 2 group: 3 } }
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers { name: "norm1" type: LRN bottom: "conv1" top: "norm1" lrn_param { local_size: 3 alpha: 0.1 } }
layers { name: "pool1" type: POOLING bottom: "norm1" top: "pool1" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layers { name: "fc" type: INNER_PRODUCT bottom: "pool1" top: "fc" inner_product_param { num_output: 5 } }
layers { name: "drop" type: DROPOUT bottom: "fc" top: "fc" dropout_param { dropout_ratio: 0.5 } }
layers { name: "prob" type: SOFTMAX bottom: "fc" top: "prob" }
"""
V1_PLAIN = (
    given(data=(2, 3, 12, 11))
    + conv("conv1", "data", 6, 3, "stride: 2 group: 3")
    + layer("ReLU", "relu1", "conv1", "conv1")
    + layer("LRN", "norm1", "conv1", lrn_param="local_size: 3 alpha: 0.1")
    + layer("Pooling", "pool1", "norm1", pooling_param="kernel_size: 3 stride: 2")
    + layer("InnerProduct", "fc", "pool1", inner_product_param="num_output: 5")
    + layer("Softmax", "prob", "fc")
)
V0 = """name: "oldest"
input: "data" input_dim: 2 input_dim: 3 input_dim: 12 input_dim: 11
layers { layer { name: "pad1" type: "padding" pad: 2 } bottom: "data" top: "pad1" }
layers { layer { name: "conv1" type: "conv" num_output: 4 kernelsize: 5 stride: 2 weight_filler { type: "xavier" } } bottom: "pad1" top: "conv1" }
layers { layer { name: "relu1" type: "relu" } bottom: "conv1" top: "conv1" }
layers { layer { name: "pool1" type: "pool" kernelsize: 3 stride: 2 pool: AVE } bottom: "conv1" top: "pool1" }
layers { layer { name: "norm1" type: "lrn" local_size: 3 alpha: 0.2 beta: 0.5 } bottom: "pool1" top: "norm1" }
layers { layer { name: "fc" type: "innerproduct" num_output: 5 biasterm: false } bottom: "norm1" top: "fc" }
layers { layer { name: "prob" type: "softmax" } bottom: "fc" top: "prob" }
"""
V0_PLAIN = (
    given(data=(2, 3, 12, 11))
    + conv("conv1", "data", 4, 5, "stride: 2 pad: 2")
    + layer("ReLU", "relu1", "conv1", "conv1")
    + layer("Pooling", "pool1", "conv1", pooling_param="kernel_size: 3 stride: 2 pool: AVE")
    + layer("LRN", "norm1", "pool1", lrn_param="local_size: 3 alpha: 0.2 beta: 0.5")
    + layer("InnerProduct", "fc", "norm1", inner_product_param="num_output: 5 bias_term: false")
    + layer("Softmax", "prob", "fc")
)
BODY = (
    conv("conv1", "data", 6, 3, "pad: 1")
    + layer("ReLU", "relu1", "conv1", "conv1")
    + layer("Pooling", "pool", "conv1", pooling_param="pool: AVE global_pooling: true")
    + layer("InnerProduct", "fc", "pool", inner_product_param="num_output: 4")
)
TRAINING = (
    """name: "training"
layer { name: "train" type: "Data" top: "data" top: "label" include { phase: TRAIN } data_param { source: "t" batch_size: 64 } }
layer { name: "test" type: "MemoryData" top: "data" top: "label" include { phase: TEST } memory_data_param { batch_size: 2 channels: 3 height: 8 width: 7 } }
layer { name: "noise" type: "Dropout" bottom: "data" top: "data" exclude { phase: TEST } }
"""
    + BODY
    + layer("SoftmaxWithLoss", "loss", "fc label", "loss prob")
    + layer("Accuracy", "top1", "fc label")
    + layer("Silence", "quiet", "label").replace(' top: "quiet"', "")
)

NETS: dict[str, Made] = {
    "activations": net(
        *(
            layer(kind, name.replace(" ", "_"), "x", **({param: said} if param else {}))
            for name, (kind, param, said) in VALUES.items()
        ),
        x=X,
    ),
    "log": net(
        layer("Log", "a", "x", log_param="scale: 0.2 shift: 2"),
        layer("Log", "b", "x", log_param="base: 10 scale: 0.1 shift: 1"),
        oracle=NUMPY,
        x=X,
    ),
    "bnll_threshold": net(
        layer("BNLL", "soft", "x"),
        layer("Threshold", "step", "x", threshold_param="threshold: 0.2"),
        oracle=NUMPY,
        x=X,
    ),
    "bounded": net(
        layer("ReLU6", "six", "x"),
        layer("Swish", "swish", "x", swish_param="beta: 1.5"),
        layer("Clip", "clip", "x", clip_param="min: -0.3 max: 0.6"),
        oracle=NUMPY,
        x=X,
    ),
    "prelu_shared": net(
        layer("PReLU", "one", "x", prelu_param="channel_shared: true"),
        layer("PReLU", "flat", "v"),
        x=X,
        v=(3, 5),
        oracle=NUMPY,
    ),
    "conv": net(
        conv("a", "x", 8, 3, "pad: 1 stride: 2"),
        conv("b", "x", 4, 3, "dilation: 2 bias_term: false"),
        conv("c", "x", 6, 1, "group: 3"),
        layer(
            "Convolution",
            "d",
            "x",
            convolution_param=(
                "num_output: 3 kernel_h: 3 kernel_w: 2 stride_h: 1 stride_w: 3 pad_h: 2 pad_w: 0"
            ),
        ),
        x=X,
    ),
    "conv_each_axis": net(
        conv(
            "a",
            "x",
            3,
            3,
            "kernel_size: 2 pad: 0 pad: 1 stride: 2 stride: 1 dilation: 1 dilation: 2",
        ),
        x=X,
        oracle=NUMPY,
    ),
    "conv_two_bottoms": net(
        layer(
            "Convolution", "twice", "x y", "p q", convolution_param="num_output: 3 kernel_size: 3"
        ),
        x=(1, 2, 6, 5),
        y=(1, 2, 6, 5),
        oracle=NUMPY,
    ),
    "conv_volume": net(
        conv("a", "x", 4, 3, "pad: 1 stride: 2 force_nd_im2col: true"),
        conv("b", "x", 2, 2, "dilation: 2 group: 2"),
        x=(1, 4, 6, 5, 7),
        oracle=NUMPY,
    ),
    "conv_line": net(conv("a", "x", 4, 3, "pad: 1 stride: 2"), x=(2, 3, 11), oracle=NUMPY),
    "deconv": net(
        layer(
            "Deconvolution",
            "a",
            "x",
            convolution_param="num_output: 4 kernel_size: 4 stride: 2 pad: 1",
        ),
        layer(
            "Deconvolution",
            "b",
            "x",
            convolution_param="num_output: 6 kernel_size: 3 stride: 2 group: 6 bias_term: false",
        ),
        layer(
            "Deconvolution",
            "c",
            "x",
            convolution_param=(
                "num_output: 4 kernel_h: 3 kernel_w: 2 stride_h: 3 stride_w: 1 group: 2"
            ),
        ),
        x=(2, 6, 4, 5),
    ),
    "deconv_dilated": net(
        layer(
            "Deconvolution",
            "a",
            "x",
            convolution_param="num_output: 4 kernel_size: 3 stride: 2 dilation: 2 pad: 1",
        ),
        x=(1, 3, 4, 5),
        oracle=NUMPY,
    ),
    "depthwise": net(
        layer(
            "ConvolutionDepthwise",
            "a",
            "x",
            convolution_param="num_output: 6 kernel_size: 3 pad: 1 stride: 2",
        ),
        layer(
            "DepthwiseConvolution",
            "b",
            "x",
            convolution_param="num_output: 6 kernel_size: 3 bias_term: false group: 6",
        ),
        x=X,
        oracle=NUMPY,
    ),
    "im2col": net(
        layer("Im2col", "a", "x", convolution_param="kernel_size: 3 stride: 2 pad: 1 dilation: 2"),
        x=(2, 3, 7, 8),
        oracle=NUMPY,
    ),
    "inner_product": net(
        layer("InnerProduct", "a", "x", inner_product_param="num_output: 7"),
        layer(
            "InnerProduct", "b", "x", inner_product_param="num_output: 5 axis: 2 bias_term: false"
        ),
        x=X,
    ),
    "inner_product_turned": net(
        layer("InnerProduct", "c", "x", inner_product_param="num_output: 4 transpose: true"),
        x=X,
        oracle=NUMPY,
    ),
    "pool_max": net(
        *(
            layer("Pooling", name, "x", pooling_param=said)
            for name, said in {
                "a": "kernel_size: 3 stride: 2",
                "b": "kernel_size: 2 stride: 2",
                "c": "kernel_size: 3 stride: 2 pad: 1",
                "d": "kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 3 pad_h: 1 pad_w: 0",
                "e": "global_pooling: true",
                "f": "kernel_size: 5 stride: 3 pad: 2",
            }.items()
        ),
        x=X,
    ),
    "pool_average": net(
        *(
            layer("Pooling", name, "x", pooling_param=f"pool: AVE {said}")
            for name, said in {
                "a": "kernel_size: 3 stride: 2",
                "b": "kernel_size: 2 stride: 2",
                "c": "kernel_size: 3 stride: 2 pad: 1",
                "d": "kernel_size: 3 stride: 1 pad: 1",
                "e": "global_pooling: true",
                "f": "kernel_size: 5 stride: 3 pad: 2",
                "g": "kernel_h: 4 kernel_w: 2 stride_h: 3 stride_w: 2 pad_h: 1 pad_w: 1",
            }.items()
        ),
        x=X,
    ),
    "pool_floor": net(
        layer(
            "Pooling",
            "a",
            "x",
            pooling_param="pool: AVE kernel_size: 3 stride: 2 round_mode: FLOOR",
        ),
        layer(
            "Pooling", "b", "x", pooling_param="kernel_size: 2 stride: 2 pad: 1 ceil_mode: false"
        ),
        x=X,
        oracle=NUMPY,
    ),
    "pool_places": net(
        layer("Pooling", "pool", "x", "pool mask", pooling_param="kernel_size: 2 stride: 2"),
        layer("Upsample", "back", "pool mask", upsample_param="scale: 2"),
        layer("Power", "shown", "mask"),
        x=(2, 3, 6, 8),
        oracle=NUMPY,
    ),
    "pyramid": net(
        layer("SPP", "a", "x", spp_param="pyramid_height: 3"),
        layer("SPP", "b", "x", spp_param="pyramid_height: 2 pool: AVE"),
        layer("SPP", "c", "x", spp_param="pyramid_height: 1"),
        x=(2, 3, 9, 7),
        oracle=NUMPY,
    ),
    "lrn": net(
        layer("LRN", "a", "x", lrn_param="local_size: 5 alpha: 0.5 beta: 0.6"),
        layer("LRN", "b", "x", lrn_param="local_size: 3 alpha: 0.3 norm_region: WITHIN_CHANNEL"),
        x=X,
    ),
    "lrn_k": net(
        layer("LRN", "a", "x", lrn_param="local_size: 5 alpha: 0.5 beta: 0.75 k: 2"),
        x=X,
        oracle=NUMPY,
    ),
    "batch_norm": net(
        layer("BatchNorm", "bn", "x", "x1"),
        layer("Scale", "scale", "x1", "x1", scale_param="bias_term: true"),
        layer("ReLU", "relu", "x1", "x1"),
        x=X,
    ),
    "batch_norm_of_batch": net(
        layer("BatchNorm", "bn", "x", batch_norm_param="use_global_stats: false eps: 0.01"),
        layer("BatchNorm", "flat", "v", batch_norm_param="eps: 0.1"),
        x=X,
        v=(3, 5),
        oracle=NUMPY,
    ),
    "scale": net(
        layer("Scale", "a", "x", scale_param="axis: 1 num_axes: 2 bias_term: true"),
        layer("Scale", "b", "x", scale_param="axis: 0 num_axes: -1"),
        layer("Scale", "c", "x", scale_param="num_axes: 0 bias_term: true"),
        layer("Scale", "d", "x s", scale_param="axis: 0 bias_term: true"),
        layer("Bias", "e", "x", bias_param="axis: 2 num_axes: 1"),
        layer("Bias", "f", "x s", bias_param="axis: 0"),
        layer("Scale", "g", "x", scale_param="axis: -1"),
        x=X,
        s=(2, 6),
        oracle=NUMPY,
    ),
    "eltwise": net(
        layer("Eltwise", "sum", "x y"),
        layer("Eltwise", "coeff", "x y", eltwise_param="operation: SUM coeff: 1 coeff: -0.5"),
        layer("Eltwise", "prod", "x y", eltwise_param="operation: PROD"),
        layer("Eltwise", "max", "x y sum", eltwise_param="operation: MAX"),
        x=X,
        y=X,
    ),
    "concat_slice": net(
        layer("Slice", "thirds", "x", "a b c"),
        layer("Slice", "points", "x", "d e", slice_param="axis: 2 slice_point: 4"),
        layer("Concat", "across", "c a", concat_param="axis: 1"),
        layer("Concat", "down", "e d", concat_param="concat_dim: 2"),
        layer("Power", "rest", "b"),
        x=X,
    ),
    "reshape": net(
        layer("Reshape", "a", "x", reshape_param="shape { dim: 0 dim: -1 dim: 8 }"),
        layer("Reshape", "b", "x", reshape_param="shape { dim: 3 dim: 2 } axis: 1 num_axes: 1"),
        layer("Reshape", "c", "x", reshape_param="shape { dim: -1 } axis: -2"),
        layer("Flatten", "d", "x"),
        layer("Flatten", "e", "x", flatten_param="axis: 1 end_axis: 2"),
        layer("Reshape", "f", "x", reshape_param="shape { dim: 1 } axis: -1 num_axes: 0"),
        x=X,
        oracle=NUMPY,
    ),
    "reduction": net(
        *(
            layer("Reduction", f"r{number}", "x", reduction_param=said)
            for number, said in enumerate(
                (
                    "axis: 1",
                    "operation: ASUM axis: 2 coeff: 0.5",
                    "operation: SUMSQ axis: -1",
                    "operation: MEAN axis: 1",
                )
            )
        ),
        x=X,
        oracle=NUMPY,
    ),
    "argmax": net(
        layer("ArgMax", "a", "x"),
        layer("ArgMax", "b", "x", argmax_param="top_k: 3 out_max_val: true"),
        layer("ArgMax", "c", "x", argmax_param="axis: 1 top_k: 2"),
        layer("ArgMax", "d", "x", argmax_param="axis: -1 out_max_val: true"),
        layer("ArgMax", "e", "ties", argmax_param="top_k: 4"),
        x=X,
        ties=(3, 7),
        oracle=NUMPY,
        values={"ties": whole(0, 3, 3, 7)},
    ),
    "softmax": net(
        layer("Softmax", "a", "x"), layer("Softmax", "b", "x", softmax_param="axis: 3"), x=X
    ),
    "mvn": net(
        layer("MVN", "a", "x"),
        layer("MVN", "b", "x", mvn_param="across_channels: true eps: 0.1"),
        layer("MVN", "c", "x", mvn_param="normalize_variance: false"),
        x=X,
        oracle=NUMPY,
    ),
    "embed": net(
        layer("Embed", "a", "x", embed_param="input_dim: 9 num_output: 4"),
        layer("Embed", "b", "x", embed_param="input_dim: 9 num_output: 3 bias_term: false"),
        x=(5, 2),
        oracle=NUMPY,
        values={"x": whole(0, 9, 5, 2)},
    ),
    "crop": net(
        layer("Crop", "a", "x like", crop_param="axis: 2 offset: 2"),
        layer("Crop", "b", "x like", crop_param="axis: 1 offset: 1 offset: 0 offset: 3"),
        x=X,
        like=(2, 4, 5, 4),
    ),
    "tile": net(
        layer("Tile", "a", "x", tile_param="tiles: 3"),
        layer("Tile", "b", "x", tile_param="axis: 3 tiles: 2"),
        x=(2, 3, 2, 4),
        oracle=NUMPY,
    ),
    "batch_reindex": net(
        layer("BatchReindex", "a", "x at"),
        x=(4, 3, 2),
        at=(6,),
        oracle=NUMPY,
        values={"at": whole(0, 4, 6)},
    ),
    "parameter": Made(
        given(x=(2, 3, 4))
        + layer("Parameter", "w", "", "w", parameter_param="shape { dim: 2 dim: 3 dim: 4 }")
        + layer("Eltwise", "sum", "x w"),
        {"x": (2, 3, 4)},
        NUMPY,
    ),
    "lstm": net(
        layer("LSTM", "a", "x going", recurrent_param="num_output: 5"),
        x=(6, 2, 4),
        going=(6, 2),
        oracle=NUMPY,
        values={"going": marks(6, 2)},
    ),
    "lstm_static": net(
        layer(
            "LSTM",
            "a",
            "x going same h c",
            "y hn cn",
            recurrent_param="num_output: 3 expose_hidden: true",
        ),
        x=(5, 2, 2, 2),
        going=(5, 2),
        same=(2, 4),
        h=(1, 2, 3),
        c=(1, 2, 3),
        oracle=NUMPY,
        values={"going": marks(5, 2)},
    ),
    "rnn": net(
        layer("RNN", "a", "x going", recurrent_param="num_output: 4"),
        layer("RNN", "b", "x going same", recurrent_param="num_output: 3"),
        x=(6, 2, 4),
        going=(6, 2),
        same=(2, 3),
        oracle=NUMPY,
        values={"going": marks(6, 2)},
    ),
    "interp": net(
        layer("Interp", "a", "x", interp_param="height: 15 width: 5"),
        layer("Interp", "b", "x", interp_param="zoom_factor: 3"),
        layer("Interp", "c", "x", interp_param="shrink_factor: 2 pad_beg: -1 pad_end: -1"),
        layer("Interp", "d", "x like"),
        layer("Interp", "e", "x", interp_param="shrink_factor: 2 zoom_factor: 3"),
        x=(1, 2, 9, 8),
        like=(1, 1, 4, 11),
        oracle=NUMPY,
    ),
    "upsample": net(
        layer("Upsample", "a", "x", upsample_param="scale: 2"), x=(1, 2, 3, 4), oracle=NUMPY
    ),
    "shuffle_permute": net(
        layer("ShuffleChannel", "a", "x", shuffle_channel_param="group: 3"),
        layer("Permute", "b", "x", permute_param="order: 0 order: 2 order: 3 order: 1"),
        layer("Permute", "c", "x", permute_param="order: 1"),
        x=X,
        oracle=NUMPY,
    ),
    "normalize": net(
        layer("Normalize", "a", "x", norm_param="across_spatial: false channel_shared: false"),
        layer("Normalize", "b", "x", norm_param="across_spatial: true"),
        layer(
            "Normalize", "c", "x", norm_param="across_spatial: false channel_shared: true eps: 0.1"
        ),
        x=X,
        oracle=NUMPY,
    ),
    "squeeze_excite": net(
        layer("Pooling", "pool", "x", pooling_param="pool: AVE global_pooling: true"),
        conv("down", "pool", 3, 1),
        layer("ReLU", "relu", "down", "down"),
        conv("up", "down", 6, 1),
        layer("Sigmoid", "gate", "up"),
        layer("Axpy", "sum", "gate x y"),
        x=X,
        y=X,
        oracle=NUMPY,
    ),
    "prior_box": net(
        layer("PriorBox", "a", "x image", prior_box_param="min_size: 10 aspect_ratio: 2"),
        layer(
            "PriorBox",
            "b",
            "x image",
            prior_box_param=(
                "min_size: 10 min_size: 20 max_size: 15 max_size: 40 aspect_ratio: 2 aspect_ratio:"
                " 3 flip: true clip: true variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2"
            ),
        ),
        layer(
            "PriorBox",
            "c",
            "x image",
            prior_box_param=(
                "min_size: 10.7 max_size: 20.9 flip: false aspect_ratio: 2 step: 8 offset: 0.25"
                " img_h: 90 img_w: 80"
            ),
        ),
        layer(
            "PriorBox",
            "d",
            "x image",
            prior_box_param="min_size: 12 step_h: 10 step_w: 7 img_size: 60",
        ),
        layer("Power", "both", "x"),
        x=(1, 2, 3, 4),
        image=(1, 3, 40, 50),
        oracle=NUMPY,
    ),
    "detection": detection(
        SSD % ("true", 0, 0.45, "top_k: 40", 20, 0.01, "code_type: CENTER_SIZE")
    ),
    "detection_by_label": detection(
        SSD % ("false", 1, 0.3, "", -1, 0.3, "code_type: CORNER"), shared=False, oracle=NUMPY
    ),
    "detection_few": detection(
        SSD
        % (
            "true",
            -1,
            0.6,
            "top_k: 7",
            5,
            0.1,
            "code_type: CORNER_SIZE variance_encoded_in_target: true",
        ),
        oracle=NUMPY,
    ),
    "detection_none": detection(
        SSD % ("true", 0, 0.45, "", 20, 1.5, "code_type: CENTER_SIZE"), oracle=NUMPY
    ),
    "v0": Made(V0, {"data": (2, 3, 12, 11)}, OPENCV, V0_PLAIN),
    "v1": Made(V1, {"data": (2, 3, 12, 11)}, OPENCV, V1_PLAIN),
    "training": Made(
        TRAINING,
        {"data": (2, 3, 8, 7)},
        OPENCV,
        given(data=(2, 3, 8, 7)) + BODY + layer("Softmax", "loss", "fc", "prob"),
    ),
    "alone": Made(
        given(data=(2, 3, 8, 7)) + BODY + layer("Softmax", "prob", "fc"),
        {"data": (2, 3, 8, 7)},
        alone=True,
    ),
    "shared": Made(
        given(a=(2, 3), b=(2, 3))
        + "".join(
            f'layer {{ name: "fc{n}" type: "InnerProduct" bottom: "{n}" top: "fc{n}" param {{ name:'
            ' "w" } param { name: "v" } inner_product_param { num_output: 4 } }\n'
            for n in "ab"
        ),
        {"a": (2, 3), "b": (2, 3)},
        NUMPY,
    ),
    "split": net(
        layer("Split", "two", "x", "p q"),
        layer("ReLU", "relu", "p", "p"),
        layer("Eltwise", "sum", "p q"),
        layer("Dropout", "drop", "sum", "sum"),
        x=(2, 3, 4, 5),
    ),
}

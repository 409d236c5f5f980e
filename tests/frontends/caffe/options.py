"""Nets with values of options that the nets of the corpus lack. `reference.py` computes their
outputs.
"""

from collections.abc import Mapping

import numpy as np

from tests.frontends.caffe.definitions import NUMPY, NetCase, conv, layer, net, random_integers

X = (2, 6, 7, 5)
UNEVEN = "kernel_h: 2 kernel_w: 3 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 2"


def each(type_: str, param: str, *fields: str, bottoms: str = "x") -> tuple[str, ...]:
    """A layer for each of these parameters."""
    return tuple(
        layer(type_, f"{type_.lower()}{index}", bottoms, **{param: item})
        for index, item in enumerate(fields)
    )


def distinct_indices(*shape: int, count: int) -> np.ndarray:
    """Distinct indices, below `count`, for the elements of each channel."""
    order = np.random.default_rng(4).permuted(np.tile(np.arange(count), (*shape[:2], 1)), axis=2)
    return order[..., : shape[2] * shape[3]].reshape(shape).astype(np.float32)


def positive(shape: tuple[int, ...]) -> Mapping[str, object]:
    """Positive inputs, for which roots and powers are defined."""
    return {"x": lambda rng: rng.uniform(0.5, 2, shape)}


OPTIONS: Mapping[str, NetCase] = {
    "power": net(
        *each(
            "Power",
            "power_param",
            "power: 0.5 scale: 2 shift: 1",
            "power: 3 scale: 0 shift: 2",
            "power: 0 shift: 3",
            "power: 0.5",
        ),
        *each("Exp", "exp_param", "scale: 0.3 shift: 0.7", "base: 3"),
        layer("Log", "plain", "x", log_param="shift: 0.5"),
        layer("Log", "two", "x", log_param="base: 2 scale: 3"),
        oracle=NUMPY,
        values=positive(X),
        x=X,
    ),
    "slopes": net(
        *each("ReLU", "relu_param", "negative_slope: -0.3"),
        *each("ELU", "elu_param", "", "alpha: 2"),
        *each("Threshold", "threshold_param", "", "threshold: -0.4"),
        *each("Swish", "swish_param", "", "beta: 0.5"),
        *each("Clip", "clip_param", "min: 0.1 max: 0.2"),
        *each("PReLU", "prelu_param", "", "channel_shared: true"),
        oracle=NUMPY,
        x=X,
    ),
    "convolution": net(
        *each(
            "Convolution",
            "convolution_param",
            f"num_output: 4 {UNEVEN}",
            f"num_output: 6 group: 2 bias_term: false {UNEVEN}",
            "num_output: 3 kernel_size: 2 pad_w: 1",
            "num_output: 3 kernel_h: 1 kernel_w: 3 dilation: 2",
            "num_output: 3 kernel_size: 2 kernel_size: 3 dilation: 2 dilation: 1",
        ),
        oracle=NUMPY,
        x=X,
    ),
    "deconvolution": net(
        *each(
            "Deconvolution",
            "convolution_param",
            f"num_output: 4 {UNEVEN}",
            f"num_output: 6 group: 3 bias_term: false {UNEVEN}",
            "num_output: 3 kernel_size: 3 kernel_size: 2 dilation: 1 dilation: 2 stride: 2 stride:"
            " 1 pad: 0 pad: 1",
        ),
        oracle=NUMPY,
        x=(2, 6, 4, 3),
    ),
    "depthwise": net(
        *(
            item
            for kind in ("ConvolutionDepthwise", "DepthwiseConvolution")
            for item in each(
                kind,
                "convolution_param",
                f"num_output: 6 {UNEVEN}",
                "num_output: 6 kernel_size: 2 bias_term: false stride: 2",
                "num_output: 12 kernel_size: 2 pad: 1 dilation: 2",
            )
        ),
        *each("Im2col", "convolution_param", UNEVEN, "kernel_size: 2 kernel_size: 1 dilation: 3"),
        oracle=NUMPY,
        x=X,
    ),
    "pooling": net(
        *each(
            "Pooling",
            "pooling_param",
            *(
                f"pool: {pool} {fields}"
                for pool in ("MAX", "AVE")
                for fields in (
                    UNEVEN,
                    "kernel_size: 3 stride: 2 pad_h: 1",
                    "kernel_size: 3 stride: 2 pad: 1 ceil_mode: false",
                    "kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR",
                    "kernel_size: 2",
                    "kernel_h: 3 kernel_w: 4 stride_h: 1 stride_w: 2",
                    "global_pooling: true",
                    "kernel_size: 3 stride: 3",
                    "kernel_size: 2 stride: 2 pad: 1",
                )
            ),
        ),
        oracle=NUMPY,
        x=X,
    ),
    "lrn": net(
        *each(
            "LRN",
            "lrn_param",
            "",
            "local_size: 1 alpha: 0.5",
            "local_size: 3 alpha: 0.7 beta: 0.5 k: 3",
            "norm_region: WITHIN_CHANNEL local_size: 3 alpha: 0.7 beta: 2 k: 5",
        ),
        oracle=NUMPY,
        x=X,
    ),
    "upsample": net(
        *each(
            "Upsample",
            "upsample_param",
            "scale: 3",
            "scale_h: 3 scale_w: 4",
            "scale: 3 scale_w: 4 pad_out_h: true",
            "pad_out_w: true",
            "upsample_h: 9 scale_w: 5",
            "upsample_w: 11",
            bottoms="x at",
        ),
        layer("Upsample", "plain", "x", upsample_param="scale: 3"),
        oracle=NUMPY,
        values={"at": lambda _: distinct_indices(2, 3, 3, 4, count=5 * 7)},
        x=(2, 3, 3, 4),
        at=(2, 3, 3, 4),
    ),
    "places": net(
        layer("Pooling", "pool", "x", "pool mask", pooling_param="kernel_size: 3 stride: 2 pad: 1"),
        oracle=NUMPY,
        x=X,
    ),
    "batch norm": net(
        *each(
            "BatchNorm",
            "batch_norm_param",
            "",
            "eps: 0.2",
            "use_global_stats: true eps: 0.3",
            "use_global_stats: false",
            "use_global_stats: false eps: 0.4",
        ),
        oracle=NUMPY,
        x=X,
    ),
    "factors": net(
        *each(
            "Scale",
            "scale_param",
            "",
            "num_axes: 3",
            "axis: -2 num_axes: 1 bias_term: true",
            "axis: 2",
            "axis: 0 num_axes: 2",
        ),
        *each(
            "Bias", "bias_param", "", "axis: -2 num_axes: 2", "axis: 0 num_axes: -1", "num_axes: 0"
        ),
        layer("Bias", "given", "x y", bias_param="axis: -2"),
        layer("Scale", "times", "x y", scale_param="axis: 2 bias_term: true"),
        oracle=NUMPY,
        x=X,
        y=X[2:],
    ),
    "products": net(
        *each(
            "InnerProduct",
            "inner_product_param",
            "num_output: 3 axis: -1",
            "num_output: 4 axis: 0 bias_term: false",
            "num_output: 3 axis: 2 transpose: true",
            "num_output: 2 axis: -2 transpose: true bias_term: false",
        ),
        oracle=NUMPY,
        x=(2, 3, 4, 5),
    ),
    "sums": net(
        *each(
            "Eltwise",
            "eltwise_param",
            "",
            "coeff: 2 coeff: 1 coeff: -1",
            "operation: PROD",
            "operation: MAX",
            bottoms="x y z",
        ),
        oracle=NUMPY,
        x=X,
        y=X,
        z=X,
    ),
    "parts": net(
        *each("Concat", "concat_param", "axis: -2", "axis: 0", "", bottoms="x y x"),
        layer(
            "Slice", "behind", "x", "a b c", slice_param="axis: -2 slice_point: 1 slice_point: 3"
        ),
        layer("Slice", "older", "y", "d e", slice_param="slice_dim: 2 slice_point: 3"),
        layer("Slice", "usual", "y", "f g h", slice_param="slice_point: 1 slice_point: 2"),
        oracle=NUMPY,
        x=X,
        y=X,
    ),
    "shapes": net(
        *each(
            "Reshape",
            "reshape_param",
            "shape { dim: 0 dim: 0 dim: -1 }",
            "shape { dim: 5 dim: -1 } axis: 2",
            "shape { dim: 2 dim: -1 } axis: 1 num_axes: 2",
            "shape { dim: 0 dim: 1 } axis: -2 num_axes: 1",
            "shape { dim: -1 dim: 2 } axis: 0 num_axes: 2",
        ),
        *each(
            "Flatten", "flatten_param", "axis: 2", "axis: 0 end_axis: 1", "axis: -3 end_axis: -2"
        ),
        *each(
            "Permute", "permute_param", "order: 3 order: 0", "order: 2 order: 3 order: 1 order: 0"
        ),
        *each("Tile", "tile_param", "axis: -2 tiles: 3", "axis: 0 tiles: 2"),
        *each("ShuffleChannel", "shuffle_channel_param", "group: 2", "group: 3", "group: 1"),
        oracle=NUMPY,
        x=X,
    ),
    "along": net(
        *each("Softmax", "softmax_param", "", "axis: -1", "axis: 2", "axis: 0"),
        *each(
            "Reduction",
            "reduction_param",
            *(
                f"operation: {kind} {fields}"
                for kind in ("SUM", "ASUM", "SUMSQ", "MEAN")
                for fields in ("", "axis: -2 coeff: -3", "axis: 1")
            ),
        ),
        *each(
            "ArgMax",
            "argmax_param",
            "axis: 2",
            "axis: -2 top_k: 3",
            "axis: 1 top_k: 2 out_max_val: true",
            "top_k: 5",
            "out_max_val: true",
        ),
        *each(
            "MVN",
            "mvn_param",
            "eps: 0.3",
            "across_channels: true",
            "across_channels: true normalize_variance: false",
        ),
        oracle=NUMPY,
        x=X,
    ),
    "crop": net(
        *each(
            "Crop",
            "crop_param",
            "",
            "axis: -1 offset: 2",
            "axis: -2 offset: 3 offset: 1",
            "axis: 1 offset: 1",
            bottoms="x like",
        ),
        oracle=NUMPY,
        x=X,
        like=(2, 3, 4, 3),
    ),
    "interpolation": net(
        *each(
            "Interp",
            "interp_param",
            "height: 4",
            "width: 9",
            "pad_beg: -2",
            "pad_end: -1",
            "pad_beg: -1 pad_end: -2 zoom_factor: 2",
            "shrink_factor: 3",
            "shrink_factor: 2 zoom_factor: 4 pad_end: -1",
            "height: 1 width: 3",
        ),
        oracle=NUMPY,
        x=X,
    ),
    "normalisation": net(
        *each(
            "Normalize",
            "norm_param",
            *(
                f"across_spatial: {a} channel_shared: {b} eps: {eps}"
                for a in ("true", "false")
                for b in ("true", "false")
                for eps in (1e-8, 0.7)
            ),
        ),
        oracle=NUMPY,
        x=X,
    ),
    "boxes": net(
        *each(
            "PriorBox",
            "prior_box_param",
            "min_size: 9 aspect_ratio: 3 flip: false",
            "min_size: 9 aspect_ratio: 3 aspect_ratio: 1 offset: 0",
            "min_size: 12 clip: true variance: 0.3",
            "min_size: 4 max_size: 11 step_w: 3 img_w: 33",
            "min_size: 5 step_h: 4 img_h: 21",
            "min_size: 5 step: 6 img_size: 44",
            "min_size: 7 variance: 0.1 variance: 0.2 variance: 0.3 variance: 0.4",
            bottoms="x image",
        ),
        oracle=NUMPY,
        x=(1, 2, 3, 4),
        image=(1, 3, 24, 35),
    ),
    "embedding": net(
        *each(
            "Embed",
            "embed_param",
            "input_dim: 6 num_output: 5 bias_term: false",
            "input_dim: 7 num_output: 2",
        ),
        oracle=NUMPY,
        values={"x": random_integers(0, 6, 3, 4)},
        x=(3, 4),
    ),
    "rnn": net(
        layer(
            "RNN",
            "shown",
            "x going h",
            "y last",
            recurrent_param="num_output: 3 expose_hidden: true",
        ),
        conv("a", "image", 2, 1),
        oracle=NUMPY,
        values={"going": lambda rng: rng.integers(0, 2, (4, 2))},
        x=(4, 2, 5),
        going=(4, 2),
        h=(1, 2, 3),
        image=(1, 2, 3, 3),
    ),
    "spatial pyramid": net(
        *each(
            "SPP",
            "spp_param",
            "pyramid_height: 2 pool: MAX",
            "pyramid_height: 3 pool: AVE",
            "pyramid_height: 1 pool: AVE",
        ),
        oracle=NUMPY,
        x=(2, 3, 9, 7),
    ),
}

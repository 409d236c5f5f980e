"""Nets of convolutions, pooling and resizing."""

from tests.frontends.caffe.definitions import NUMPY, NetCase, X, conv, layer, net

WINDOW_NETS: dict[str, NetCase] = {
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
    "pool_max": net(
        *(
            layer("Pooling", name, "x", pooling_param=fields)
            for name, fields in {
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
            layer("Pooling", name, "x", pooling_param=f"pool: AVE {fields}")
            for name, fields in {
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
}

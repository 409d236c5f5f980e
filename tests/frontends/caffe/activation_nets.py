"""Nets of activations and functions of single elements."""

from tests.frontends.caffe.definitions import NUMPY, NetCase, X, layer, net

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


ACTIVATION_NETS: dict[str, NetCase] = {
    "activations": net(
        *(
            layer(kind, name.replace(" ", "_"), "x", **({param: fields} if param else {}))
            for name, (kind, param, fields) in VALUES.items()
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
    "softmax": net(
        layer("Softmax", "a", "x"), layer("Softmax", "b", "x", softmax_param="axis: 3"), x=X
    ),
}

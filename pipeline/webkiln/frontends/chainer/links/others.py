"""Normalizations, activations with parameters, and links that combine others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions import window
from webkiln.frontends.chainer.functions.activation import maxout, prelu, relu, sigmoid, swish
from webkiln.frontends.chainer.functions.elementwise import bias, scale
from webkiln.frontends.chainer.functions.normalization import (
    batch_normalization,
    fixed_batch_normalization,
    group_normalization,
    layer_normalization,
)
from webkiln.frontends.chainer.functions.shape import concat
from webkiln.frontends.chainer.initializers import initial_of
from webkiln.frontends.chainer.link import Chain, Link
from webkiln.frontends.chainer.links.convolution import Convolution2D
from webkiln.frontends.chainer.links.linear import Linear
from webkiln.frontends.chainer.settings import CONFIG
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import Parameter, as_variable, node


def _shape(size: Any) -> tuple[int, ...]:
    return (int(size),) if isinstance(size, int | np.integer) else tuple(size)


class BatchNormalization(Link):
    def __init__(
        self,
        size: Any = None,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        axis: Any = None,
        initial_avg_mean: Any = None,
        initial_avg_var: Any = None,
    ) -> None:
        super().__init__()
        if size is None and axis is None:
            raise SourceError("BatchNormalization: size or axis is required")
        self.eps, self.axis, self.decay = eps, (axis,) if isinstance(axis, int) else axis, decay
        self.N = 0
        self._first = (initial_avg_mean, initial_avg_var)
        with self.init_scope():
            self.gamma: Any = lazy(initial_gamma, 1, None) if use_gamma else None
            self.beta: Any = lazy(initial_beta, 0, None) if use_beta else None
        self.avg_mean: Any = None
        self.avg_var: Any = None
        if size is not None:
            self.ready(_shape(size))
        for name in ("avg_mean", "avg_var", "N"):
            self.register_persistent(name)

    def ready(self, shape: tuple[Any, ...]) -> None:
        if any(map(is_open, shape)):
            raise SourceError(
                "BatchNormalization: its parameters would have the"
                f" open sizes {shape}; set them in input_shapes"
            )
        if self.avg_mean is None:
            mean, var = self._first
            self.avg_mean = initial_of(0 if mean is None else mean).array(shape)
            self.avg_var = initial_of(1 if var is None else var).array(shape)
        for param in (self.gamma, self.beta):
            if param is not None and not param.is_initialized:
                param.initialize(shape)

    def forward(
        self, x: Any, *old: Any, test: bool | None = None, finetune: bool = False, **kwargs: Any
    ) -> Any:
        """In Chainer 1, `test` selects the stored statistics."""
        x = as_variable(x)
        if self.avg_mean is None:
            self.ready(tuple(size for d, size in enumerate(x.shape) if d not in self.axis))
        shape = self.avg_mean.shape
        gamma = np.ones(shape, x.dtype) if self.gamma is None else self.gamma
        beta = np.zeros(shape, x.dtype) if self.beta is None else self.beta
        if CONFIG.train:
            return batch_normalization(x, gamma, beta, eps=self.eps, axis=self.axis)
        return fixed_batch_normalization(
            x, gamma, beta, self.avg_mean, self.avg_var, self.eps, self.axis
        )

    def start_finetuning(self) -> None:
        self.N = 0


class BatchRenormalization(BatchNormalization):
    def __init__(
        self,
        size: Any,
        rmax: float = 1,
        dmax: float = 0,
        decay: float = 0.9,
        eps: float = 2e-5,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(size, decay, eps, *args, **kwargs)


class LayerNormalization(Link):
    def __init__(
        self,
        size: Any = None,
        eps: float = 1e-6,
        initial_gamma: Any = None,
        initial_beta: Any = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.gamma, self.beta = lazy(initial_gamma, 1, size), lazy(initial_beta, 0, size)

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        for param in (self.gamma, self.beta):
            if not param.is_initialized:
                param.initialize(x.shape[1])
        return layer_normalization(x, self.gamma, self.beta, self.eps)


class GroupNormalization(LayerNormalization):
    def __init__(
        self,
        groups: int,
        size: Any = None,
        eps: float = 1e-5,
        initial_gamma: Any = None,
        initial_beta: Any = None,
    ) -> None:
        super().__init__(size, eps, initial_gamma, initial_beta)
        self.groups = groups

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        for param in (self.gamma, self.beta):
            if not param.is_initialized:
                param.initialize(x.shape[1])
        return group_normalization(x, self.groups, self.gamma, self.beta, self.eps)


def lazy(initial: Any, usual: float, shape: Any) -> Parameter:
    """A parameter whose shape is inferred later if it is not given."""
    return Parameter(initial_of(usual if initial is None else initial), shape)


class PReLU(Link):
    def __init__(self, shape: Any = (), init: Any = 0.25) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter(init, shape)

    def forward(self, x: Any) -> Any:
        return prelu(x, self.W)


class Swish(Link):
    def __init__(self, beta_shape: Any, beta_init: Any = 1.0) -> None:
        super().__init__()
        with self.init_scope():
            self.beta = lazy(beta_init, 1.0, beta_shape)

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        if not self.beta.is_initialized:
            self.beta.initialize(x.shape[1:])
        return swish(x, self.beta)


class Bias(Link):
    def __init__(self, axis: int = 1, shape: Any = None) -> None:
        super().__init__()
        self.axis = axis
        if shape is not None:
            with self.init_scope():
                self.b = Parameter(0, shape)

    def forward(self, *xs: Any) -> Any:
        return bias(xs[0], self.b if hasattr(self, "b") else xs[1], self.axis)


class Scale(Chain):
    def __init__(
        self, axis: int = 1, W_shape: Any = None, bias_term: bool = False, bias_shape: Any = None
    ) -> None:
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = Parameter(1, W_shape)
            if bias_term:
                self.bias = Bias(axis, W_shape if W_shape is not None else bias_shape)

    def forward(self, *xs: Any) -> Any:
        y = scale(xs[0], self.W if hasattr(self, "W") else xs[1], self.axis)
        return self.bias(y) if hasattr(self, "bias") else y


class Maxout(Chain):
    def __init__(
        self,
        in_size: Any,
        out_size: int,
        pool_size: int,
        initialW: Any = None,
        initial_bias: Any = 0,
    ) -> None:
        super().__init__()
        self.out_size, self.pool_size = out_size, pool_size
        kernel = (
            initialW.reshape(out_size * pool_size, in_size)
            if isinstance(initialW, np.ndarray)
            else initialW
        )
        first = initial_bias.reshape(-1) if isinstance(initial_bias, np.ndarray) else initial_bias
        with self.init_scope():
            self.linear = Linear(in_size, out_size * pool_size, initial_bias is None, kernel, first)

    def forward(self, x: Any) -> Any:
        return maxout(self.linear(x), self.pool_size)


class Highway(Chain):
    def __init__(
        self,
        in_out_size: int,
        nobias: bool = False,
        activate: Any = relu,
        init_Wh: Any = None,
        init_Wt: Any = None,
        init_bh: Any = None,
        init_bt: Any = -1,
    ) -> None:
        super().__init__()
        self.activate = activate
        with self.init_scope():
            self.plain = Linear(in_out_size, in_out_size, nobias, init_Wh, init_bh)
            self.transform = Linear(in_out_size, in_out_size, nobias, init_Wt, init_bt)

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        gate = sigmoid(self.transform(x))
        return node(
            "Add",
            node("Mul", self.activate(self.plain(x)), gate),
            node("Mul", x, node("Sub", 1.0, gate)),
        )


class InceptionBN(Chain):
    def __init__(
        self,
        in_channels: Any,
        out1: int,
        proj3: int,
        out3: int,
        proj33: int,
        out33: int,
        pooltype: str,
        proj_pool: Any = None,
        stride: int = 1,
        conv_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if pooltype not in ("max", "avg"):
            raise SourceError(f"InceptionBN: pooltype is {pooltype!r}; expected max or avg")
        self.out1, self.proj_pool, self.stride, self.pooltype = out1, proj_pool, stride, pooltype
        self.add("proj3", "proj3n", in_channels, proj3, 1)
        self.add("conv3", "conv3n", proj3, out3, 3, stride)
        self.add("proj33", "proj33n", in_channels, proj33, 1)
        self.add("conv33a", "conv33an", proj33, out33, 3)
        self.add("conv33b", "conv33bn", out33, out33, 3, stride)
        if out1 > 0:
            self.add("conv1", "conv1n", in_channels, out1, 1, stride)
        if proj_pool is not None:
            self.add("poolp", "poolpn", in_channels, proj_pool, 1)

    def add(
        self, name: str, norm: str, channels: Any, out: int, size: int, stride: int = 1
    ) -> None:
        self.add_link(name, Convolution2D(channels, out, size, stride, size // 2, True))
        self.add_link(norm, BatchNormalization(out))

    def step(self, name: str, norm: str, x: Any) -> Any:
        return relu(self[norm](self[name](x)))

    def forward(self, x: Any) -> Any:
        outs = [self.step("conv1", "conv1n", x)] if self.out1 > 0 else []
        outs.append(self.step("conv3", "conv3n", self.step("proj3", "proj3n", x)))
        both = self.step("conv33a", "conv33an", self.step("proj33", "proj33n", x))
        outs.append(self.step("conv33b", "conv33bn", both))
        pooled = (
            window.max_pooling(x, 3, self.stride, 1, cover_all=False)
            if self.pooltype == "max"
            else window.average_pooling(x, 3, self.stride, 1)
        )
        outs.append(pooled if self.proj_pool is None else self.step("poolp", "poolpn", pooled))
        return concat(outs, 1)


class ParameterLink(Link):
    def __init__(self, array: Any) -> None:
        super().__init__()
        with self.init_scope():
            self.W = Parameter(np.asarray(array))

    def forward(self, volatile: str = "off") -> Any:
        return self.W


class Classifier(Chain):
    """A predictor with a loss. Only the predictor is recorded."""

    def __init__(
        self, predictor: Any, lossfun: Any = None, accfun: Any = None, label_key: Any = -1
    ) -> None:
        super().__init__()
        self.lossfun, self.accfun, self.label_key = lossfun, accfun, label_key
        with self.init_scope():
            self.predictor = predictor

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise SourceError(
            "L.Classifier computes a loss; return its predictor from the function: return"
            " model.predictor"
        )


OTHERS: Mapping[str, type[Link]] = {
    "BatchNormalization": BatchNormalization,
    "BatchRenormalization": BatchRenormalization,
    "LayerNormalization": LayerNormalization,
    "GroupNormalization": GroupNormalization,
    "PReLU": PReLU,
    "Swish": Swish,
    "Bias": Bias,
    "Scale": Scale,
    "Maxout": Maxout,
    "Highway": Highway,
    "InceptionBN": InceptionBN,
    "Parameter": ParameterLink,
    "Classifier": Classifier,
}

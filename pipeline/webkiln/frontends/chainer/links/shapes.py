"""Links with a kernel."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from webkiln.frontends.chainer.functions import window
from webkiln.frontends.chainer.functions.activation import relu
from webkiln.frontends.chainer.functions.connection import (
    bilinear,
    embed_id,
    linear,
    simplified_dropconnect,
)
from webkiln.frontends.chainer.functions.image import deformable_convolution_2d_sampler
from webkiln.frontends.chainer.functions.shape import concat
from webkiln.frontends.chainer.functions.window import spread
from webkiln.frontends.chainer.initializers import initial_of
from webkiln.frontends.chainer.link import Chain, ChainList, Link
from webkiln.frontends.chainer.variable import Parameter, as_variable


class Weighted(Link):
    """A link with a kernel `W`, whose shape can depend on the first input, and a bias `b`."""

    def make(
        self, shape: Any, initialW: Any, bias_shape: Any, initial_bias: Any, nobias: bool
    ) -> None:
        with self.init_scope():
            self.W = Parameter(initialW, shape)
            if nobias:
                self.b: Any = None
            else:
                self.b = Parameter(
                    initial_of(0 if initial_bias is None else initial_bias), bias_shape
                )

    def ready(self, shape: Callable[[], Any], bias_shape: Callable[[], Any] | None = None) -> None:
        if not self.W.is_initialized:
            self.W.initialize(shape())
        if self.b is not None and not self.b.is_initialized and bias_shape is not None:
            self.b.initialize(bias_shape())


OLD = ("wscale", "bias", "nobias")
"""The parameters after the sizes in Chainer 1. A number in the position of today's `nobias`
identifies such a call.
"""


def named(
    given: Sequence[Any], now: Sequence[str], then: Sequence[str], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Translate Chainer 1's arguments. Its `wscale` only scales initial values, and its `bias` is
    the initial bias.
    """
    old = bool(given) and type(given[0]) in (int, float)
    found = {**dict(zip((*OLD, *then) if old else now, given, strict=False)), **kwargs}
    if found.get("initial_bias") is None:
        found["initial_bias"] = found.get("bias")
    return found


class Linear(Weighted):
    def __init__(self, in_size: Any, out_size: Any = None, *given: Any, **kwargs: Any) -> None:
        """`nobias, initialW, initial_bias` follow."""
        super().__init__()
        said = named(
            given, ("nobias", "initialW", "initial_bias"), ("initialW", "initial_bias"), kwargs
        )
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size, self.out_size = in_size, out_size
        shape = None if in_size is None else (out_size, in_size)
        self.make(
            shape, said.get("initialW"), out_size, said["initial_bias"], bool(said.get("nobias"))
        )

    def forward(self, x: Any, n_batch_axes: int = 1) -> Any:
        x = as_variable(x)
        self.ready(lambda: (self.out_size, prod(x.shape[n_batch_axes:])))
        return linear(x, self.W, self.b, n_batch_axes)


class ConvolutionND(Weighted):
    transposed = False

    def __init__(
        self,
        ndim: int,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        *given: Any,
        **kwargs: Any,
    ) -> None:
        """Further parameters: `nobias`, `outsize` if transposed, `initialW, initial_bias` and, for
        N-dimensional ones, `cover_all, dilate, groups`.
        """
        super().__init__()
        size = ("outsize",) if self.transposed else ()
        now = (
            "nobias",
            *size,
            "initialW",
            "initial_bias",
            *(() if self.transposed else ("cover_all",)),
            "dilate",
            "groups",
        )
        said = named(given, now, (*size, "use_cudnn", "initialW", "initial_bias"), kwargs)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.ndim, self.ksize, self.stride, self.pad = ndim, ksize, stride, pad
        self.dilate, self.groups = said.get("dilate", 1), int(said.get("groups", 1))
        self.cover_all, self.outsize, self.out_channels = (
            said.get("cover_all", False),
            said.get("outsize"),
            out_channels,
        )
        shape = None if in_channels is None else self.shape(in_channels)
        self.make(
            shape,
            said.get("initialW"),
            out_channels,
            said["initial_bias"],
            bool(said.get("nobias")),
        )

    def shape(self, channels: int) -> tuple[Any, ...]:
        first, second = (
            (channels, self.out_channels) if self.transposed else (self.out_channels, channels)
        )
        return (first, second // self.groups, *spread(self.ksize, self.ndim))

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        self.ready(lambda: self.shape(x.shape[1]))
        if self.transposed:
            return window.deconvolution(
                x, self.W, self.b, self.stride, self.pad, self.outsize, self.dilate, self.groups
            )
        return window.convolution(
            x, self.W, self.b, self.stride, self.pad, self.cover_all, self.dilate, self.groups
        )


class DeconvolutionND(ConvolutionND):
    transposed = True


def of_rank(base: type[ConvolutionND], count: int, name: str) -> type[ConvolutionND]:
    def __init__(
        self: Any,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        *given: Any,
        **kwargs: Any,
    ) -> None:
        base.__init__(self, count, in_channels, out_channels, ksize, *given, **kwargs)

    return type(name, (base,), {"__init__": __init__})


Convolution1D, Convolution2D, Convolution3D = (
    of_rank(ConvolutionND, n, f"Convolution{n}D") for n in (1, 2, 3)
)
Deconvolution1D, Deconvolution2D, Deconvolution3D = (
    of_rank(DeconvolutionND, n, f"Deconvolution{n}D") for n in (1, 2, 3)
)


class DilatedConvolution2D(Convolution2D):  # type: ignore[misc, valid-type]
    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        dilate: Any = 1,
        *given: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, ksize, stride, pad, *given, dilate=dilate, **kwargs
        )


class DepthwiseConvolution2D(Weighted):
    def __init__(
        self,
        in_channels: Any,
        channel_multiplier: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.multiplier, self.ksize, self.stride, self.pad = channel_multiplier, ksize, stride, pad
        known = in_channels is not None
        self.make(
            self.shape(in_channels) if known else None,
            initialW,
            channel_multiplier * in_channels if known else None,
            initial_bias,
            nobias,
        )

    def shape(self, channels: int) -> tuple[int, ...]:
        return (self.multiplier, channels, *spread(self.ksize, 2))

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        self.ready(lambda: self.shape(x.shape[1]), lambda: self.multiplier * x.shape[1])
        return window.depthwise_convolution_2d(x, self.W, self.b, self.stride, self.pad)


class LocalConvolution2D(Weighted):
    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        in_size: Any = None,
        ksize: Any = None,
        stride: Any = 1,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.out_channels, self.ksize, self.stride = out_channels, ksize, stride
        shape = (
            None
            if in_channels is None or in_size is None
            else self.shape(in_channels, spread(in_size, 2))
        )
        self.make(shape, initialW, None if shape is None else shape[:3], initial_bias, nobias)

    def shape(self, channels: int, size: Any) -> tuple[int, ...]:
        window_, steps = spread(self.ksize, 2), spread(self.stride, 2)
        out = [(n - k) // step + 1 for n, k, step in zip(size, window_, steps, strict=True)]
        return (self.out_channels, *out, channels, *window_)

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        self.ready(
            lambda: self.shape(x.shape[1], x.shape[2:]),
            lambda: self.shape(x.shape[1], x.shape[2:])[:3],
        )
        return window.local_convolution_2d(x, self.W, self.b, self.stride)


class Sampler(Weighted):
    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.out_channels, self.ksize, self.stride, self.pad = out_channels, ksize, stride, pad
        shape = None if in_channels is None else (out_channels, in_channels, *spread(ksize, 2))
        self.make(shape, initialW, out_channels, initial_bias, nobias)

    def forward(self, x: Any, offset: Any) -> Any:
        self.ready(lambda: (self.out_channels, x.shape[1], *spread(self.ksize, 2)))
        return deformable_convolution_2d_sampler(x, offset, self.W, self.b, self.stride, self.pad)


class DeformableConvolution2D(Chain):
    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        offset_nobias: bool = False,
        offset_initialW: Any = None,
        offset_initial_bias: Any = None,
        deform_nobias: bool = False,
        deform_initialW: Any = None,
        deform_initial_bias: Any = None,
    ) -> None:
        super().__init__()
        taps = prod(spread(ksize, 2))
        with self.init_scope():
            self.offset_conv = Convolution2D(
                in_channels,
                2 * taps,
                ksize,
                stride,
                pad,
                offset_nobias,
                offset_initialW,
                offset_initial_bias,
            )
            self.deform_conv = Sampler(
                in_channels,
                out_channels,
                ksize,
                stride,
                pad,
                deform_nobias,
                deform_initialW,
                deform_initial_bias,
            )

    def forward(self, x: Any) -> Any:
        return self.deform_conv(x, self.offset_conv(x))


class EmbedID(Link):
    def __init__(
        self, in_size: int, out_size: int, initialW: Any = None, ignore_label: int | None = None
    ) -> None:
        super().__init__()
        self.ignore_label = ignore_label
        with self.init_scope():
            self.W = Parameter(initialW, (in_size, out_size))

    def forward(self, x: Any) -> Any:
        return embed_id(x, self.W, self.ignore_label)


class Bilinear(Link):
    def __init__(
        self,
        left_size: int,
        right_size: int,
        out_size: int,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.nobias = nobias
        first, second, bias = (
            (None, None, None)
            if initial_bias is None or np.isscalar(initial_bias)
            else initial_bias
        )
        with self.init_scope():
            self.W = Parameter(initialW, (left_size, right_size, out_size))
            if not nobias:
                self.V1, self.V2 = (
                    Parameter(first, (left_size, out_size)),
                    Parameter(second, (right_size, out_size)),
                )
                self.b = Parameter(0 if bias is None else bias, out_size)

    def forward(self, e1: Any, e2: Any) -> Any:
        return (
            bilinear(e1, e2, self.W)
            if self.nobias
            else bilinear(e1, e2, self.W, self.V1, self.V2, self.b)
        )


class SimplifiedDropconnect(Linear):
    def __init__(
        self,
        in_size: Any,
        out_size: Any,
        ratio: float = 0.5,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__(in_size, out_size, nobias, initialW, initial_bias)
        self.ratio = ratio

    def forward(  # type: ignore[override]
        self, x: Any, train: bool = True, mask: Any = None, use_batchwise_mask: bool = True
    ) -> Any:
        x = as_variable(x)
        self.ready(lambda: (self.out_size, prod(x.shape[1:])))
        return simplified_dropconnect(x, self.W, self.b, self.ratio, train, mask)


class MLPConvolution2D(ChainList):
    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        activation: Any = relu,
        *old: Any,
        conv_init: Any = None,
        bias_init: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.activation = (
            activation
            if callable(activation)
            else next((item for item in old if callable(item)), kwargs.get("activation", relu))
        )
        counts = list(out_channels)
        self.add_link(
            Convolution2D(
                in_channels,
                counts[0],
                ksize,
                stride,
                pad,
                initialW=conv_init,
                initial_bias=bias_init,
            )
        )
        for before, count in itertools.pairwise(counts):
            self.add_link(
                Convolution2D(before, count, 1, initialW=conv_init, initial_bias=bias_init)
            )

    def forward(self, x: Any) -> Any:
        for number, link in enumerate(self):
            x = link(x)
            if number < len(self) - 1:
                x = self.activation(x)
        return x


class Inception(Chain):
    def __init__(
        self,
        in_channels: Any,
        out1: int,
        proj3: int,
        out3: int,
        proj5: int,
        out5: int,
        proj_pool: int,
        conv_init: Any = None,
        bias_init: Any = None,
    ) -> None:
        super().__init__()
        options = {"initialW": conv_init, "initial_bias": bias_init}
        with self.init_scope():
            self.conv1, self.proj3 = (
                Convolution2D(in_channels, out1, 1, **options),
                Convolution2D(in_channels, proj3, 1, **options),
            )
            self.conv3, self.proj5 = (
                Convolution2D(proj3, out3, 3, pad=1, **options),
                Convolution2D(in_channels, proj5, 1, **options),
            )
            self.conv5, self.projp = (
                Convolution2D(proj5, out5, 5, pad=2, **options),
                Convolution2D(in_channels, proj_pool, 1, **options),
            )

    def forward(self, x: Any) -> Any:
        third, fifth = self.conv3(relu(self.proj3(x))), self.conv5(relu(self.proj5(x)))
        pooled = self.projp(window.max_pooling(x, 3, 1, 1))
        return relu(concat([self.conv1(x), third, fifth, pooled], 1))


SHAPES: Mapping[str, type[Link]] = {
    "Linear": Linear,
    "Convolution1D": Convolution1D,
    "Convolution2D": Convolution2D,
    "Convolution3D": Convolution3D,
    "ConvolutionND": ConvolutionND,
    "Deconvolution1D": Deconvolution1D,
    "Deconvolution2D": Deconvolution2D,
    "Deconvolution3D": Deconvolution3D,
    "DeconvolutionND": DeconvolutionND,
    "DilatedConvolution2D": DilatedConvolution2D,
    "DepthwiseConvolution2D": DepthwiseConvolution2D,
    "LocalConvolution2D": LocalConvolution2D,
    "DeformableConvolution2D": DeformableConvolution2D,
    "EmbedID": EmbedID,
    "Bilinear": Bilinear,
    "SimplifiedDropconnect": SimplifiedDropconnect,
    "MLPConvolution2D": MLPConvolution2D,
    "Inception": Inception,
}

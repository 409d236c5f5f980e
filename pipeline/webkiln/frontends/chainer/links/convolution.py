"""Convolutions."""

from collections.abc import Mapping
from math import prod
from typing import Any

from webkiln.frontends.chainer.functions import window
from webkiln.frontends.chainer.functions.image import deformable_convolution_2d_sampler
from webkiln.frontends.chainer.functions.window import spread
from webkiln.frontends.chainer.link import Chain, Link
from webkiln.frontends.chainer.links.kernels import Weighted, named
from webkiln.frontends.chainer.variable import as_variable


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
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Further parameters: `nobias`, `outsize` if transposed, `initialW, initial_bias` and, for
        N-dimensional ones, `cover_all, dilate, groups`.
        """
        super().__init__()
        size = ("outsize",) if self.transposed else ()
        names = (
            "nobias",
            *size,
            "initialW",
            "initial_bias",
            *(() if self.transposed else ("cover_all",)),
            "dilate",
            "groups",
        )
        arguments = named(args, names, (*size, "use_cudnn", "initialW", "initial_bias"), kwargs)
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.ndim, self.ksize, self.stride, self.pad = ndim, ksize, stride, pad
        self.dilate, self.groups = arguments.get("dilate", 1), int(arguments.get("groups", 1))
        self.cover_all, self.outsize, self.out_channels = (
            arguments.get("cover_all", False),
            arguments.get("outsize"),
            out_channels,
        )
        shape = None if in_channels is None else self.shape(in_channels)
        self.make(
            shape,
            arguments.get("initialW"),
            out_channels,
            arguments["initial_bias"],
            bool(arguments.get("nobias")),
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
        *args: Any,
        **kwargs: Any,
    ) -> None:
        base.__init__(self, count, in_channels, out_channels, ksize, *args, **kwargs)

    return type(name, (base,), {"__init__": __init__})


Convolution1D, Convolution2D, Convolution3D = (
    of_rank(ConvolutionND, n, f"Convolution{n}D") for n in (1, 2, 3)
)


Deconvolution1D, Deconvolution2D, Deconvolution3D = (
    of_rank(DeconvolutionND, n, f"Deconvolution{n}D") for n in (1, 2, 3)
)


# of_rank creates the base class, which mypy cannot see.
class DilatedConvolution2D(Convolution2D):  # type: ignore[misc, valid-type]
    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        dilate: Any = 1,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            in_channels, out_channels, ksize, stride, pad, *args, dilate=dilate, **kwargs
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
        has_channels = in_channels is not None
        self.make(
            self.shape(in_channels) if has_channels else None,
            initialW,
            channel_multiplier * in_channels if has_channels else None,
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


CONVOLUTIONS: Mapping[str, type[Link]] = {
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
}

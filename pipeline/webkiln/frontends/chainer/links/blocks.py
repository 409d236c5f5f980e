"""Blocks of several convolutions."""

import itertools
from collections.abc import Mapping
from typing import Any

from webkiln.frontends.chainer.functions import window
from webkiln.frontends.chainer.functions.activation import relu
from webkiln.frontends.chainer.functions.shape import concat
from webkiln.frontends.chainer.link import Chain, ChainList, Link
from webkiln.frontends.chainer.links.convolution import Convolution2D


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


BLOCKS: Mapping[str, type[Link]] = {
    "MLPConvolution2D": MLPConvolution2D,
    "Inception": Inception,
}

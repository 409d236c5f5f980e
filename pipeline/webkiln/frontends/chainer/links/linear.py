"""Linear maps and embeddings."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from webkiln.frontends.chainer.functions.connection import (
    bilinear,
    embed_id,
    linear,
    simplified_dropconnect,
)
from webkiln.frontends.chainer.link import Link
from webkiln.frontends.chainer.links.kernels import Weighted, named
from webkiln.frontends.chainer.variable import Parameter, as_variable


class Linear(Weighted):
    def __init__(self, in_size: Any, out_size: Any = None, *args: Any, **kwargs: Any) -> None:
        """`nobias, initialW, initial_bias` follow."""
        super().__init__()
        arguments = named(
            args, ("nobias", "initialW", "initial_bias"), ("initialW", "initial_bias"), kwargs
        )
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size, self.out_size = in_size, out_size
        shape = None if in_size is None else (out_size, in_size)
        self.make(
            shape,
            arguments.get("initialW"),
            out_size,
            arguments["initial_bias"],
            bool(arguments.get("nobias")),
        )

    def forward(self, x: Any, n_batch_axes: int = 1) -> Any:
        x = as_variable(x)
        self.ready(lambda: (self.out_size, prod(x.shape[n_batch_axes:])))
        return linear(x, self.W, self.b, n_batch_axes)


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

    # In Chainer, too, the arguments differ from those of Linear.
    def forward(  # type: ignore[override]
        self, x: Any, train: bool = True, mask: Any = None, use_batchwise_mask: bool = True
    ) -> Any:
        x = as_variable(x)
        self.ready(lambda: (self.out_size, prod(x.shape[1:])))
        return simplified_dropconnect(x, self.W, self.b, self.ratio, train, mask)


LINEAR: Mapping[str, type[Link]] = {
    "Linear": Linear,
    "EmbedID": EmbedID,
    "Bilinear": Bilinear,
    "SimplifiedDropconnect": SimplifiedDropconnect,
}

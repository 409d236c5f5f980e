"""The base of links with a kernel, and the arguments of their older versions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webkiln.frontends.chainer.initializers import initial_of
from webkiln.frontends.chainer.link import Link
from webkiln.frontends.chainer.variable import Parameter


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
    args: Sequence[Any], names: Sequence[str], old_names: Sequence[str], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Translate Chainer 1's arguments. Its `wscale` only scales initial values, and its `bias` is
    the initial bias.
    """
    is_old = bool(args) and type(args[0]) in (int, float)
    arguments = {**dict(zip((*OLD, *old_names) if is_old else names, args, strict=False)), **kwargs}
    if arguments.get("initial_bias") is None:
        arguments["initial_bias"] = arguments.get("bias")
    return arguments

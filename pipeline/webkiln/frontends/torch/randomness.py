"""Random operators in terms of `rand`, `randn` and `randint`, whose numbers are inputs of the
bundle.

The formulas are those of ATen's kernels, up to the generator.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten
SMALLEST = 1e-30
Size = Sequence[int]


def _uniform(x: Tensor) -> Tensor:
    return torch.rand(x.shape, dtype=x.dtype if x.is_floating_point() else torch.float32)


def rand_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.rand(x.shape, dtype=dtype or x.dtype)


def randn_like(x: Tensor, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.randn(x.shape, dtype=dtype or x.dtype)


def randint_like(
    x: Tensor, low: int, high: int | None = None, *, dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    first, last = (0, low) if high is None else (low, high)
    return torch.randint(first, last, x.shape, dtype=dtype or x.dtype)


def random(x: Tensor, low: int, high: int | None = None, **_: Any) -> Tensor:
    return randint_like(x, low, high)


def bernoulli(x: Tensor, p: Tensor | float | None = None, **_: Any) -> Tensor:
    return (_uniform(x) < (x if p is None else p)).to(x.dtype)


def native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if not train or p == 0:
        return x.clone(), torch.ones(x.shape, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros(x.shape, dtype=torch.bool)
    mask = _uniform(x) >= p
    return x * mask * (1 / (1 - p)), mask


def multinomial(x: Tensor, count: int, replacement: bool = False, **_: Any) -> Tensor:
    weights = x.float()
    if not replacement:
        # the classes that arrive first, of exponential times with the weights as rates
        times = -torch.log(1 - torch.rand(x.shape))
        return torch.topk(weights / times.clamp_min(SMALLEST), count, dim=-1)[1]
    bounds = torch.cumsum(weights, -1)
    draws = torch.rand([*x.shape[:-1], count]) * bounds[..., -1:]
    return (bounds.unsqueeze(-2) <= draws.unsqueeze(-1)).sum(-1)


def normal(mean: Any, std: Any = 1.0, size: Size | None = None, **named: Any) -> Tensor:
    if size is not None:
        return torch.randn(size, dtype=named.get("dtype") or torch.float32) * std + mean
    shape = torch.broadcast_shapes(*(x.shape for x in (mean, std) if isinstance(x, Tensor)))
    dtype = mean.dtype if isinstance(mean, Tensor) else std.dtype
    return torch.randn(shape, dtype=dtype) * std + mean


def normal_functional(x: Tensor, mean: float = 0.0, std: float = 1.0, **_: Any) -> Tensor:
    return torch.randn(x.shape, dtype=x.dtype) * std + mean


def log_normal(x: Tensor, mean: float = 1.0, std: float = 2.0, **_: Any) -> Tensor:
    return torch.exp(normal_functional(x, mean, std))


def uniform(x: Tensor, low: float = 0.0, high: float = 1.0, **_: Any) -> Tensor:
    return _uniform(x) * (high - low) + low


def exponential(x: Tensor, rate: float = 1.0, **_: Any) -> Tensor:
    # never 0: gumbel_softmax takes the logarithm
    return (-torch.log(1 - _uniform(x))).clamp_min(SMALLEST) / rate


def geometric(x: Tensor, p: float, **_: Any) -> Tensor:
    times = torch.log(1 - torch.rand(x.shape)) / math.log1p(-p)
    return torch.ceil(times).clamp_min(1).to(x.dtype)


def cauchy(x: Tensor, median: float = 0.0, sigma: float = 1.0, **_: Any) -> Tensor:
    return torch.tan((_uniform(x) - 0.5) * math.pi) * sigma + median


def randperm(count: int, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return torch.argsort(torch.rand([count])).to(dtype or torch.int64)


def rrelu(
    x: Tensor,
    noise: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    **_: Any,
) -> Any:
    if not training:
        return NotImplemented
    slopes = torch.where(x <= 0, uniform(x, lower, upper), torch.ones_like(x))
    return x * slopes, slopes


FORMULAS: Mapping[str, Callable[..., Any]] = {
    "rand_like.default": rand_like,
    "randn_like.default": randn_like,
    "randint_like.default": randint_like,
    "randint_like.low_dtype": randint_like,
    "random.from": random,
    "random.to": random,
    "bernoulli.default": bernoulli,
    "bernoulli.p": bernoulli,
    "bernoulli.Tensor": bernoulli,
    "native_dropout.default": native_dropout,
    "multinomial.default": multinomial,
    "normal.float_float": normal,
    "normal.Tensor_Tensor": normal,
    "normal.Tensor_float": normal,
    "normal.float_Tensor": normal,
    "normal_functional.default": normal_functional,
    "log_normal.default": log_normal,
    "uniform.default": uniform,
    "exponential.default": exponential,
    "geometric.default": geometric,
    "cauchy.default": cauchy,
    "randperm.default": randperm,
    "rrelu_with_noise_functional.default": rrelu,
}
"""By overload."""


def formulas() -> dict[Any, Callable[..., Any]]:
    """The decompositions by operator."""
    return {
        getattr(getattr(aten, name.partition(".")[0]), name.partition(".")[2]): formula
        for name, formula in FORMULAS.items()
    }


DRAWS: Mapping[Any, str] = {
    aten.rand.default: "uniform",
    aten.randn.default: "normal",
    aten.randint.default: "randint",
    aten.randint.low: "randint",
}
"""The distribution of each operator that draws."""


def drawn_parameters(operator: Any, args: Sequence[Any]) -> tuple[float, float]:
    """The parameters of its distribution."""
    if operator is aten.randint.default:
        return 0, args[0]
    return (args[0], args[1]) if operator is aten.randint.low else (0.0, 1.0)

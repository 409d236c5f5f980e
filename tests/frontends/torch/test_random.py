"""Random operators, whose numbers are inputs of the bundle."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.frontends.torch.cases import FunctionModule, floats
from webkiln.errors import UnsupportedError
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.torch import randomness
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.reference import compute_reference
from webkiln.frontends.torch.source import TracedProgram, exported
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

FUNCTIONS: Mapping[str, Callable[[Tensor], Any]] = {
    "rand": lambda x: x + torch.rand(x.shape),
    "rand twice": lambda x: torch.rand(x.shape) - torch.rand(x.shape) + x,
    "rand_like": lambda x: x + torch.rand_like(x),
    "randn": lambda x: x * torch.randn(x.shape[0], 1),
    "randn_like, float64": lambda x: x + torch.randn_like(x, dtype=torch.float64),
    "randint": lambda x: x + torch.randint(3, 7, x.shape),
    "randint of floats": lambda x: x + torch.randint(7, x.shape, dtype=torch.float32),
    "randint_like": lambda x: x + torch.randint_like(x, 7) + torch.randint_like(x, 2, 5),
    "bernoulli": lambda x: torch.bernoulli(x) + x,
    "bernoulli, p": lambda x: x.clone().bernoulli_(0.3) + torch.bernoulli(x, 0.6) + x,
    "bernoulli, tensor": lambda x: x.clone().bernoulli_(x) + x,
    "multinomial": lambda x: torch.multinomial(x, 6, replacement=True) + x[:, :1],
    "multinomial of each once": lambda x: torch.multinomial(x, 3) + x[:, :1],
    "normal": lambda x: torch.normal(1.0, 2.0, x.shape) + torch.normal(x, 2.0),
    "normal, tensors": lambda x: torch.normal(x, x.abs()) + torch.normal(2.0, x.abs()),
    "normal_": lambda x: x.new_empty(x.shape).normal_(1, 2) + x,
    "uniform_": lambda x: x.new_empty(x.shape).uniform_(1, 2) + x,
    "exponential_": lambda x: x.new_empty(x.shape).exponential_(2) + x,
    "random_": lambda x: x.new_empty(x.shape).random_(9) + x,
    "geometric_": lambda x: x.clone().geometric_(0.5) + x,
    "cauchy_": lambda x: x.clone().cauchy_() + x,
    "log_normal_": lambda x: x.clone().log_normal_() + x,
    "dropout": lambda x: F.dropout(x, 0.3, training=True),
    "dropout2d": lambda x: F.dropout2d(x[:, :, None, None], 0.3, training=True).sum((2, 3)) + x,
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.3, training=True),
    "gumbel": lambda x: F.gumbel_softmax(x) + F.gumbel_softmax(x, hard=True),
    "rrelu": lambda x: F.rrelu(x - 0.5, training=True),
    "randperm": lambda x: x[:, torch.randperm(5)],
}
X = floats(4, 5, low=0.05, high=1.0)


def converted(function: Callable[[Tensor], Any]) -> tuple[TracedProgram, Any, Graph]:
    """A function of an open batch: its program, its spec and its graph."""
    module = FunctionModule(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exported(module, (X,), [({0: torch.export.Dim.DYNAMIC},)], "net")
    spec, blobs = read_program(program, "net")
    return TracedProgram(program), spec, TorchConverter().convert(spec, blobs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_numbers_are_inputs(name: str) -> None:
    """The reference is torch's run of the program with the same numbers."""
    with quiet():
        source, spec, graph = converted(FUNCTIONS[name])
        params = {"dims": {}, "input_shapes": {}, "values": {}}
        inputs = sampled_inputs(spec, params, {"args_0_0": 4})
        reference, _ = compute_reference(source, spec, "net", inputs)
    drawn = [key for key in graph.inputs if graph.variables[key].distribution is not None]
    assert drawn
    for kind in ("natural0", "natural1"):
        values = {key: reference[f"{kind}/in/{key}"] for key in graph.inputs}
        outputs, _ = run_graph(graph, values)
        for key, value in outputs.items():
            np.testing.assert_allclose(
                value, reference[f"{kind}/out/{key}"], rtol=1e-4, atol=1e-5, err_msg=key
            )


ZEROS = torch.zeros(300, 300)
HALVES = torch.full((300, 300), 0.5)


@pytest.mark.parametrize(
    ("ours", "of_torch"),
    [
        (lambda: randomness.exponential(ZEROS, 2.0), lambda: ZEROS.clone().exponential_(2.0)),
        (lambda: randomness.geometric(ZEROS, 0.4), lambda: ZEROS.clone().geometric_(0.4)),
        (
            lambda: randomness.log_normal(ZEROS, 0.5, 0.25),
            lambda: ZEROS.clone().log_normal_(0.5, 0.25),
        ),
        (lambda: randomness.uniform(ZEROS, 1.0, 2.0), lambda: ZEROS.clone().uniform_(1, 2)),
        (lambda: randomness.bernoulli(ZEROS, 0.3), lambda: ZEROS.clone().bernoulli_(0.3)),
        (lambda: randomness.bernoulli(HALVES), lambda: torch.bernoulli(HALVES)),
        (lambda: randomness.normal(HALVES, HALVES), lambda: torch.normal(HALVES, HALVES)),
        (lambda: randomness.random(ZEROS, 2, 9), lambda: ZEROS.clone().random_(2, 9)),
        (
            lambda: randomness.cauchy(ZEROS, 1.0, 2.0).atan(),
            lambda: ZEROS.clone().cauchy_(1.0, 2.0).atan(),
        ),
        (
            lambda: randomness.native_dropout(HALVES, 0.3, True)[0],
            lambda: F.dropout(HALVES, 0.3, training=True),
        ),
        (
            lambda: randomness.rrelu(-HALVES, ZEROS, 0.1, 0.4, True)[0],
            lambda: F.rrelu(-HALVES, 0.1, 0.4, training=True),
        ),
    ],
)
def test_formulas_have_torchs_moments(
    ours: Callable[[], Tensor], of_torch: Callable[[], Tensor]
) -> None:
    torch.manual_seed(0)
    a, b = ours(), of_torch()
    torch.testing.assert_close(a.mean(), b.mean(), atol=0.02, rtol=0.02)
    torch.testing.assert_close(a.std(), b.std(), atol=0.02, rtol=0.02)


@pytest.mark.parametrize("replacement", [False, True])
def test_categories_follow_their_weights(replacement: bool) -> None:
    weights = torch.tensor([[0.0, 1.0, 2.0, 5.0]]).expand(40000, 4)
    with quiet():
        ours = randomness.multinomial(weights, 2, replacement)
        expected = torch.multinomial(weights, 2, replacement)
    for column in range(2):
        counts = [torch.bincount(x[:, column], minlength=4) / len(x) for x in (ours, expected)]
        torch.testing.assert_close(counts[0], counts[1], atol=0.015, rtol=0)
    assert replacement or bool((ours[:, 0] != ours[:, 1]).all())


def test_draws_of_a_sum_of_sizes_are_rejected() -> None:
    with quiet(), pytest.raises(UnsupportedError, match=r"random numbers of the size .*--dim"):
        converted(lambda x: torch.rand(x.shape[0] + 1, 2).sum() + x)


def test_draws_in_a_loop_are_rejected() -> None:
    def looped(x: Tensor) -> Tensor:
        return torch.cond(
            x.sum() > 0, lambda y: y + torch.rand(4, 5), lambda y: y - torch.rand(4, 5), (x,)
        )

    with quiet(), pytest.raises(UnsupportedError, match="random numbers in a branch or loop"):
        program = exported(FunctionModule(looped), (X,), None, "net")
        TorchConverter().convert(*read_program(program, "net"))

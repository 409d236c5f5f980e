"""Every option of torch's functions with every value, at sizes that differ in each axis, compared
with torch.

Each module returns the results of many calls, since an export costs more than they do.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.frontends.corpus import reference_mismatch
from tests.frontends.torch.cases import Calls, ModuleCase, module_of
from tests.frontends.torch.options.elements import (
    MATRIX,
    activations,
    arithmetic,
    indices,
    joins,
    norms,
    orders,
    reductions,
)
from tests.frontends.torch.options.values import (
    HEADS,
    attention,
    partial_writes,
    powers,
    spectra,
)
from tests.frontends.torch.options.windows import (
    IMAGE,
    blocks,
    convolutions,
    paddings,
    pools,
    pools_1d,
    resizings,
    samplings,
    transposed,
    volume,
)
from tests.frontends.torch.running import exported, sample
from tests.sampling import representative
from webkiln.errors import UnsupportedError
from webkiln.frontends.torch.framework import quiet

CALLS: dict[str, tuple[Calls, tuple[Tensor, ...]]] = {
    **{f"convolutions {count}": (convolutions(count), volume(count)) for count in (1, 2, 3)},
    **{f"transposed {count}": (transposed(count), volume(count)) for count in (1, 2, 3)},
    "pools": (pools, IMAGE),
    "pools 1d": (pools_1d, IMAGE),
    "paddings": (paddings, IMAGE),
    "resizings": (resizings, IMAGE),
    "joins": (joins, IMAGE),
    "samplings": (samplings, IMAGE),
    "reductions": (reductions, IMAGE),
    "orders": (orders, IMAGE),
    "norms": (norms, IMAGE),
    "activations": (activations, IMAGE),
    "arithmetic": (arithmetic, MATRIX),
    "indices": (indices, MATRIX),
    "blocks": (blocks, IMAGE),
    "powers": (powers, MATRIX),
    "partial writes": (partial_writes, MATRIX),
    "spectra": (spectra, MATRIX),
    "attention": (attention, HEADS),
}
REPRESENTATIVE = (
    "convolutions 2",
    "transposed 2",
    "pools",
    "paddings",
    "resizings",
    "joins",
    "norms",
    "reductions",
    "orders",
    "activations",
    "arithmetic",
    "indices",
    "blocks",
    "powers",
    "partial writes",
    "spectra",
    "attention",
)


@pytest.mark.parametrize("name", representative(CALLS, *REPRESENTATIVE))
def test_options_match_torch(name: str) -> None:
    calls, inputs = CALLS[name]
    case = ModuleCase(module_of(lambda *args: tuple(calls(*args))), inputs)
    assert tuple(calls(*inputs))
    with quiet():
        result = sample(name, case, exported(case), inputs)
    assert len(result.outputs) >= 12
    assert reference_mismatch(result) is None


@pytest.mark.parametrize("width", [2, 4])
def test_odd_padding_of_same_is_trailing(width: int) -> None:
    case = ModuleCase(
        module_of(lambda x: F.conv1d(x, torch.ones(1, 1, width), padding="same")),
        (torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]),),
    )
    with quiet():
        result = sample("same", case, exported(case), case.inputs)
    ((_, y),) = result.outputs.items()
    assert y[0, 0].tolist() == {2: [3, 5, 7, 4], 4: [6, 10, 9, 7]}[width]
    assert reference_mismatch(result) is None


def test_a_sorter_is_refused() -> None:
    """It would be ignored."""
    x = torch.tensor([3.0, 1.0, 2.0])
    case = ModuleCase(module_of(lambda x: torch.searchsorted(x, x, sorter=torch.argsort(x))), (x,))
    with quiet(), pytest.raises(UnsupportedError, match="sorter"):
        sample("sorter", case, exported(case), case.inputs)

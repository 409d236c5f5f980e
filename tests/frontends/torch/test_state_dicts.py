"""State dicts in checkpoints, under any key."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.frontends.torch.nets import SOURCE, net
from webkiln.errors import SourceError
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet


def other() -> dict[str, torch.Tensor]:
    return torch.nn.Sequential(torch.nn.Linear(2, 2)).state_dict()


def trained() -> dict[str, Any]:
    """The state of an optimiser after a step."""
    module = net()
    optimiser = torch.optim.Adam(module.parameters())
    module(torch.rand(1, 3, 8, 8)).sum().backward()
    optimiser.step()
    return optimiser.state_dict()


OWN = net().state_dict()
DOUBLE = {name: value * 2 for name, value in OWN.items()}
EXTRA: dict[str, Any] = {"epoch": 3, "loss": torch.tensor(0.5), "optim": trained()}


def filled(checkpoint: Any, folder: Path, module: str = SOURCE["module"]) -> torch.Tensor:
    """The output of the net with the weights of a checkpoint."""
    torch.save(checkpoint, folder / "w.pth")
    source = {**SOURCE, "module": module}
    with quiet():
        program = factory_program(source, {"image": [1, 3, 8, 8]}, folder / "w.pth")
        return program.module()(torch.ones(1, 3, 8, 8))


@pytest.mark.parametrize(
    "checkpoint",
    [
        OWN,
        {**OWN, "epoch": 4},
        *({key: OWN, **EXTRA} for key in ("model_state", "net", "params_ema", "network")),
        {"checkpoint": {"weights": OWN}, **EXTRA},
        {"generator": OWN, "discriminator": other(), **EXTRA},
        {"model": {"generator": OWN, "discriminator": other()}},
        {"hparams": {"classes": torch.ones(3)}, "g": OWN},
        {"state_dict": OWN, "ema": DOUBLE},
        {"module": {**OWN, "_metadata": {"version": 1}}, "rng": {"cpu": torch.get_rng_state()}},
    ],
    ids=lambda checkpoint: ",".join(list(checkpoint)[:2]),
)
def test_a_state_dict_is_found_under_any_key(checkpoint: Any, tmp_path: Path) -> None:
    expected = net()(torch.ones(1, 3, 8, 8))
    torch.testing.assert_close(filled(checkpoint, tmp_path), expected.detach())


def test_two_that_fit_are_both_named(tmp_path: Path) -> None:
    message = (
        r"w.pth: contains 2 state dicts: params \(tensors: 4\), params_ema \(tensors: 4\); save one"
        r" alone, or choose one with a function state_dict\(tensors\) .*, such as"
        r" params_ema.conv.weight"
    )
    with pytest.raises(SourceError, match=message):
        filled({"params": OWN, "params_ema": DOUBLE, **EXTRA}, tmp_path)


def test_a_function_chooses_one(tmp_path: Path) -> None:
    checkpoint = {"params": DOUBLE, "params_ema": OWN, **EXTRA}
    result = filled(checkpoint, tmp_path, "tests.frontends.torch.averaged")
    torch.testing.assert_close(result, net()(torch.ones(1, 3, 8, 8)).detach())


@pytest.mark.parametrize("checkpoint", [EXTRA | {"loss": 0.5}, [OWN], {"lr": 0.1}])
def test_what_contains_none_is_rejected(checkpoint: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"w.pth: contains no state dict"):
        filled(checkpoint, tmp_path)

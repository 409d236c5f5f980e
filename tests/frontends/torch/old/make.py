"""Write the files of an older version of torch. Run with its Python: `python
tests/frontends/torch/old/make.py`.

TorchScript files and state dicts are written to a folder named after the version, each with an .npz
file of its inputs and outputs. Torch 1.7.1 and 1.12.1 need Python 3.9 and numpy 1.21, torch 2.0.1
needs Python 3.11 and numpy 1.26.
"""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
import nets

FOLDER = Path(__file__).parent / torch.__version__.partition("+")[0]
torch.manual_seed(5)
TRACED = {
    "convolving": (nets.Convolving, torch.rand(2, 3, 12, 12)),
    "attending": (nets.Attending, torch.arange(10).reshape(2, 5)),
    "counting": (nets.Counting, torch.randn(3, 4)),
}
SCRIPTED = {
    "deciding": (nets.Deciding, torch.randn(2, 4)),
    "remembering": (nets.Remembering, torch.randn(2, 3)),
}
STACKED = torch.rand(2, 3, 9)


def build(kind):
    """A module with random statistics."""
    torch.manual_seed(7)
    module = kind().eval()
    for name, value in module.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            value.uniform_(0.5, 1.5)
    return module


def write_arrays(path, x, result, name="x"):
    arrays = {"in/" + name: x.numpy()}
    if isinstance(result, dict):
        arrays.update({f"out/{name}": item.numpy() for name, item in result.items()})
    elif isinstance(result, tuple):
        arrays.update({f"out/output_{index}": item.numpy() for index, item in enumerate(result)})
    else:
        arrays["out/output"] = result.numpy()
    np.savez_compressed(path, **arrays)


def write_states(module):
    """Write a state dict in the format of this version and in that before torch 1.6, alone and in a
    checkpoint.
    """
    state = module.state_dict()
    optimizer = torch.optim.Adam(module.parameters())
    checkpoint = {
        "epoch": 3,
        "loss": 0.25,
        "name": "stacked",
        "state_dict": state,
        "optimizer": optimizer.state_dict(),
    }
    torch.save(state, FOLDER / "state.pth")
    torch.save(state, FOLDER / "state_legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(checkpoint, FOLDER / "training_legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(
        dict(module.named_parameters()) | dict(module.named_buffers()), FOLDER / "parameters.pth"
    )


def main():
    FOLDER.mkdir(exist_ok=True)
    torch.set_grad_enabled(False)
    for name, (kind, x) in {**TRACED, **SCRIPTED}.items():
        module, path = build(kind), str(FOLDER / f"{name}.pt")
        (torch.jit.trace(module, x) if name in TRACED else torch.jit.script(module)).save(path)
        script = torch.jit.load(path)
        write_arrays(FOLDER / f"{name}.npz", x, script(x), script.forward.schema.arguments[1].name)
    module = build(nets.Stacked)
    write_states(module)
    write_arrays(FOLDER / "stacked.npz", STACKED, module(STACKED))


if __name__ == "__main__":
    main()

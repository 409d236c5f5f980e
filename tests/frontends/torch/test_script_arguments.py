"""Arguments of TorchScript's `forward` that are not tensors, compared with torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.torch import argument_scripts as scripts
from tests.frontends.torch.cases import floats
from tests.frontends.torch.running import output_arrays
from webkiln.errors import SourceError
from webkiln.frontends.nodes.spec import from_json, to_json
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.facts import read_facts
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import program_of

A, B, C = floats(4, 3), floats(4, 3, seed=1), floats(4, 3, seed=2)


def saved(module: torch.nn.Module, folder: Path) -> Path:
    path = folder / "net.pt"
    torch.jit.script(module.eval()).save(path)
    return path


def shapes_of(arguments: Any) -> dict[str, list[int]]:
    """Shapes of all tensors among the arguments by name: `xs.0` is that of a list."""
    return {
        ".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path): list(x.shape)
        for path, x in pytree.tree_flatten_with_path(arguments)[0]
        if isinstance(x, torch.Tensor)
    }


def mismatch(path: Path, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> str | None:
    """Compare the file with torch, for all `arguments` of forward; `values` are those of the
    build.
    """
    with quiet():
        program = program_of(path, shapes_of(arguments), values, trust_source=True)
        spec, blobs = read_program(
            program.program, "net", program.inputs, settings=program.settings
        )
        graph = TorchConverter(values=dict(values)).convert(from_json(to_json(spec)), blobs)
        tensors = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)]
        expected = torch.jit.load(path)(**arguments)
    names = [item.name for item in spec.graph.inputs]
    assert sorted(names) == sorted(shapes_of(arguments))
    arrays = dict(zip(shapes_of(arguments), (x.numpy() for x in tensors), strict=True))
    return reference_mismatch(
        Sample("net", graph, arrays, output_arrays(program.program, expected))
    )


RATES = {"a": A, "b": B}


@pytest.mark.parametrize(
    ("values", "more"),
    [
        ({"sr": 16000, "gain": 2.5}, {}),
        ({"sr": 8000, "gain": 3}, {}),
        ({"sr": 8000, "gain": 3, "mode": "fast", "loud": True}, {}),
        ({"sr": 16000, "gain": 0.5, "mode": "slow", "loud": False}, {"mask": C}),
        ({"sr": 7, "gain": 0.5, "mode": "slow", "mask": "none"}, {}),
    ],
)
def test_numbers_between_tensors_match_torch(
    values: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    plain = {name: value for name, value in values.items() if value != "none"}
    plain["gain"] = float(plain["gain"])
    path = saved(scripts.Rates(), tmp_path)
    assert mismatch(path, {**RATES, **plain, **more}, values) is None


@pytest.mark.parametrize("loud", [True, False])
def test_both_branches_match_torch(loud: bool, tmp_path: Path) -> None:
    path = saved(scripts.Switch(), tmp_path)
    assert mismatch(path, {"x": A, "loud": loud}, {"loud": loud}) is None


@pytest.mark.parametrize(
    ("scale", "shift", "pair"), [(None, None, None), (1.5, None, (3, 1.5)), (2.0, B, None)]
)
def test_optional_arguments_match_torch(
    scale: float | None, shift: torch.Tensor | None, pair: tuple[int, float] | None, tmp_path: Path
) -> None:
    arguments = {"x": A, "scale": scale, "shift": shift, "sizes": [3, -1]}
    values: dict[str, Any] = {"scale": "none" if scale is None else scale, "sizes": [3, -1]}
    if shift is None:
        values["shift"] = "none"
    if pair is not None:
        values["pair"], arguments["pair"] = list(pair), pair
    assert mismatch(saved(scripts.Scaled(), tmp_path), arguments, values) is None


def test_collections_of_tensors_match_torch(tmp_path: Path) -> None:
    path = saved(scripts.Collections(), tmp_path)
    one = floats(4, 1)
    for table in ({"left": one}, {"right": one, "left": one * 2}):
        arguments = {
            "xs": [A, B, C],
            "pair": (one, 3),
            "table": table,
            "caches": [(A, B), (B, C)],
        }
        assert mismatch(path, arguments, {"pair.1": 3}) is None


@pytest.mark.parametrize(
    ("module", "shapes", "values", "message"),
    [
        (
            scripts.Rates(),
            {"a": [4, 3]},
            {},
            (
                r"net.pt: forward needs a value of sr \(int\): --value sr=16000; a value of gain"
                r" \(float\): --value gain=0.5; the shape of b: --input-shape b=..."
            ),
        ),
        (
            scripts.Rates(),
            {"a": [4, 3], "b": [4, 3]},
            {"sr": 16000.5, "gain": "much"},
            (
                r"needs an integer as sr \(int\), got 16000.5 from --value; a number as gain"
                r" \(float\), got 'much'"
            ),
        ),
        (scripts.Switch(), {"x": [4, 3]}, {"loud": 1}, r"true or false as loud \(bool\), got 1"),
        (scripts.Switch(), {"x": [4, 3]}, {}, r"loud \(bool\): --value loud=true"),
        (
            scripts.Scaled(),
            {"x": [4, 3]},
            {},
            (
                r"a value of scale \(Optional\[float\]\): --value scale=0.5; shift"
                r" \(Optional\[Tensor\]\): --input-shape shift=1,28 makes it an input, --value"
                r" shift=none leaves it out; a value of sizes \(List\[int\]\): --value"
                r" sizes=\[16000,16000\]"
            ),
        ),
        (
            scripts.Collections(),
            {"xs.1": [4, 3]},
            {"pair.1": 3},
            r"xs \(List\[Tensor\]\): give the shape of each tensor, --input-shape xs.0=1,28",
        ),
    ],
)
def test_what_forward_needs_is_demanded_by_name(
    module: torch.nn.Module,
    shapes: dict[str, list[int]],
    values: dict[str, Any],
    message: str,
    tmp_path: Path,
) -> None:
    path = saved(module, tmp_path)
    with quiet(), pytest.raises(SourceError, match=message):
        program_of(path, shapes, values, trust_source=True)


def test_inspect_lists_what_forward_takes(tmp_path: Path) -> None:
    path = saved(scripts.Rates(), tmp_path)
    facts = dict(read_facts({"source": path}, {}).rows)
    assert facts["arguments"] == (
        "a: Tensor, sr: int, b: Tensor, gain: float, mode: str='plain', loud: bool=False, mask:"
        " Optional[Tensor]=None"
    ).replace("'", '"')
    assert facts["values"] == (
        "sr: int (needs --value), gain: float (needs --value), mode: str (default"
        ' "plain"), loud: bool (default False)'
    )

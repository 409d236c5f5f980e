"""The operators of torchvision, compared with their reference implementations."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.frontends.corpus import BACKEND_STRIDES, mismatches, reference_mismatch
from tests.frontends.torch.cases import DATA_DEPENDENT, ModuleCase, floats, module_of
from tests.frontends.torch.running import exported, sample
from tests.frontends.torch.vision import torchvision
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.probe import check_file

VISION = torchvision().ops
CORNERS = floats(9, 2, low=0, high=6)
BOXES = torch.cat([CORNERS, CORNERS + floats(9, 2, seed=1, low=0.5, high=4)], 1)
ROIS = torch.tensor([[0, 0.5, 1, 5, 6.2], [1, 2, 0, 3, 4], [0, -1, -2, 8, 3]])


def detected(boxes: Tensor, scores: Tensor) -> Tensor:
    indices = VISION.nms(boxes, scores, 0.3)
    return boxes[indices]


CASES = {
    "nms": ModuleCase(module_of(detected), (BOXES, floats(9, seed=2, low=0)), gpu=DATA_DEPENDENT),
    **{
        f"roi_align {aligned}": ModuleCase(
            module_of(
                lambda x, r, aligned=aligned: VISION.roi_align(x, r, (3, 2), 0.7, 2, aligned)
            ),
            (floats(2, 3, 6, 7), ROIS),
        )
        for aligned in (False, True)
    },
    **{
        f"deform_conv2d {groups} {masked}": ModuleCase(
            module_of(
                lambda x, o, w, m, groups=groups, masked=masked: VISION.deform_conv2d(
                    x, o, w, stride=(2, 1), padding=1, dilation=(1, 2), mask=m if masked else None
                )
            ),
            (
                floats(2, 4, 6, 7),
                floats(2, 2 * 2 * 6, 4, 5, seed=1, low=-2, high=2),
                floats(6, 4 // groups, 3, 2, seed=2),
                floats(2, 12, 4, 5, seed=3),
            ),
        )
        for groups in (1, 2)
        for masked in (False, True)
    },
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_matches_torchvision(name: str) -> None:
    with quiet():
        assert (
            reference_mismatch(sample(name, CASES[name], exported(CASES[name]), CASES[name].inputs))
            is None
        )


def test_files_with_operators_of_torchvision_are_accepted(tmp_path: Path) -> None:
    """Files are checked in a separate process, which only has webkiln's schemas."""
    for name, case in {name.split()[0]: case for name, case in CASES.items()}.items():
        path = tmp_path / f"{name}.pt2"
        with quiet():
            torch.export.save(exported(case), path)
        check_file(path)


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_backends_match_torchvision(backend: str, every: int, tmp_path: Path) -> None:
    with quiet():
        samples = [
            sample(name, case, exported(case), case.inputs)
            for name, case in list(CASES.items())[::every]
            if backend in ("wasm", "js") or not case.gpu
        ]
    assert mismatches(samples, backend, tmp_path) == {}

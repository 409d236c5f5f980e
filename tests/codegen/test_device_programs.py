"""The programs of emulated GPUs and of others, which modules of their own contain."""

from typing import Any

import pytest

from webkiln.codegen.device_programs import EMULATED, kernel_limits, programs_of
from webkiln.codegen.steps import Language, steps

LEAST = 8
KERNELS = ("decode", "halves", "filters", "winograd", "direct", "large", "sum")


def launch(kernel: str, **fields: Any) -> dict[str, Any]:
    return {"kernel": kernel, "operands": [0], "args": [], **fields}


def shard(number: int, kernel: str, **fields: Any) -> dict[str, Any]:
    return launch(kernel, shard=number, start=16 * number, bytes=16, **fields)


def program(**changes: Any) -> dict[str, Any]:
    """A convolution in the form of Winograd on emulated GPUs, direct on others, in another form on
    large ones; its filters are computed when the model is loaded.
    """
    large = {"multiprocessors": 64, "then": [launch("large")], "else": [launch("direct")]}
    return {
        "init": [
            shard(0, "decode"),
            shard(1, "decode", segments=[1], multiprocessors=LEAST, then=launch("halves")),
            shard(2, "decode", segments=[0]),
            launch("filters", shard=-1, after=[1, 2], segments=[0]),
            launch("sum", shard=-1, after=[0, 1]),
            launch("sum", shard=-1, after=[1, 1]),
        ],
        "main": [
            {
                "repeat": "t",
                "count": 2,
                "steps": [
                    {
                        "multiprocessors": LEAST,
                        "then": [large, launch("sum")],
                        "else": [launch("filters"), launch("winograd")],
                    },
                    {"copy": 4, "from": 0, "to": 4},
                ],
            },
            launch("sum"),
        ],
        "kernels": {name: {} for name in KERNELS},
        "procedures": {"sort": {}},
        "custom_kernels": {},
        "segments": [{"bytes": 64, "below": LEAST}, {"bytes": 32}, {"bytes": 8, "from": LEAST}],
        **changes,
    }


def printed(part: dict[str, Any]) -> list[str]:
    language = Language(
        counter="",
        launch=lambda entry: entry["kernel"],
        copy="copy",
        host=lambda entry: entry["host"],
        flag="",
        mark="{site}",
        device=">= {least}",
    )
    return [line.strip() for line in steps(part["main"], language)]


def test_launches_keep_the_numbers_of_the_whole_program() -> None:
    parts = programs_of(program(), LEAST)
    loop = "for (d_t = 0; d_t < 2; d_t++) {"
    assert printed(parts[""]) == [
        *(loop, "if (>= 64) {", "large;", "0", "} else {", "direct;", "1", "}", "sum;", "2"),
        *("copy", "5", "}", "sum;", "6"),
    ]
    assert printed(parts[EMULATED]) == [
        *(loop, "filters;", "3", "winograd;", "4", "copy", "5", "}", "sum;", "6"),
    ]
    numbers = [line for line in printed(program()) if line.isdecimal()]
    assert numbers == [str(number) for number in range(7)]


def test_each_program_decodes_what_its_devices_hold() -> None:
    parts = programs_of(program(), LEAST)
    assert [(entry["kernel"], entry.get("after")) for entry in parts[""]["init"]] == [
        *(("decode", None), ("halves", None), ("sum", [0, 1]), ("sum", [1, 1])),
    ]
    assert parts[""]["init"][1] == shard(1, "halves")
    assert [(entry["kernel"], entry.get("after")) for entry in parts[EMULATED]["init"]] == [
        *(("decode", None), ("decode", None), ("decode", None)),
        *(("filters", [1, 2]), ("sum", [0, 1]), ("sum", [1, 1])),
    ]
    assert parts[EMULATED]["init"][1] == shard(1, "decode", segments=[1])
    never = {"bytes": 64, "below": 0}
    assert parts[""]["segments"] == [never, {"bytes": 32}, {"bytes": 8}]
    assert parts[EMULATED]["segments"] == [{"bytes": 64}, {"bytes": 32}, {"bytes": 8, "below": 0}]


def test_each_program_has_the_kernels_that_it_launches() -> None:
    parts = programs_of(program(), LEAST)
    assert set(parts[""]["kernels"]) == {"decode", "halves", "large", "direct", "sum"}
    assert set(parts[EMULATED]["kernels"]) == {"decode", "filters", "winograd", "sum"}
    assert not parts[""]["procedures"]
    limits = kernel_limits(parts[""])
    assert limits["direct"] == (0, 64), "a module is complete also for a GPU of another class"


@pytest.mark.parametrize(
    "main",
    [
        [launch("sum"), {"host": "sort", "result": None}],
        [{"multiprocessors": 64, "then": [launch("large")], "else": [launch("direct")]}],
        [{"multiprocessors": LEAST, "then": [launch("sum")], "else": [launch("sum")]}],
    ],
)
def test_a_program_whose_kernels_all_devices_launch_stays_whole(main: list[Any]) -> None:
    whole = program(init=[launch("decode", shard=0, start=0, bytes=4)], main=main)
    assert programs_of(whole, LEAST) == {"": whole}

"""Reference outputs that were recorded where the framework is installed: an `.npz` file of inputs
and outputs.

Arrays are named after the inputs and outputs, or `inputs/NAME` and `outputs/NAME`; with several
cases `CASE/inputs/NAME` and `CASE/outputs/NAME`. The file is untrusted: array headers are checked
before data is read, and pickles are never loaded.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import RecipeError, ShapeError, did_you_mean
from webkiln.frontends.core.model_interface import ModelInterface
from webkiln.frontends.core.untrusted_arrays import RecordedArray, opened
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.solve import solve
from webkiln.ir.types import Array
from webkiln.random_inputs import STRING

ONLY_CASE = "recorded"
"""The name of the case in a file without case names."""
CASE = re.compile(r"([\w.-]+)/(inputs|outputs)/(.+)", re.ASCII | re.DOTALL)
ROLES = ("inputs", "outputs")


def recorded_arrays(path: Path, name: str, ends: ModelInterface) -> dict[str, Array]:
    """The arrays of reference.npz for a recorded reference. Messages call it `name`.

    Raise RecipeError, listing every mismatch, if the arrays do not fit the model; SourceError if
    the file is not readable.
    """
    with opened(path, f"reference {name}") as (headers, read):
        cases, problems = _group_by_case(headers, ends)
        for case, roles in cases.items():
            problems += _case_problems(case, roles, ends)
        if problems:
            raise RecipeError(
                "\n  ".join([f"reference {name} does not fit the model:", *dict.fromkeys(problems)])
            )
        arrays = {item.key: read(item) for item in headers}
    if problems := [
        f"{item.key}: {problem}"
        for roles in cases.values()
        for role, arrays_of_role in roles.items()
        for item in arrays_of_role.values()
        if (problem := _value_problem(arrays[item.key], role)) is not None
    ]:
        raise RecipeError(
            "\n  ".join([f"reference {name} cannot be used to verify the model:", *problems])
        )
    reference: dict[str, Array] = {}
    for case, roles in cases.items():
        reference |= {f"{case}/in/{key}": arrays[item.key] for key, item in roles["inputs"].items()}
        reference |= {
            f"{case}/out/{key}": arrays[item.key] for key, item in roles["outputs"].items()
        }
        reference |= {f"{case}/noise/{key}": np.array(0.0) for key in roles["outputs"]}
    return reference


Cases = dict[str, dict[str, dict[str, RecordedArray]]]
"""Recorded arrays by case, role, and the name of the input or output."""


def _group_by_case(
    headers: Sequence[RecordedArray], ends: ModelInterface
) -> tuple[Cases, list[str]]:
    """Assign each array to an input or output of a case; also return the problems of names that
    match none.
    """
    names_of_role = {role: ends.of(role) for role in ROLES}
    cases: Cases = {}
    problems: list[str] = []
    for item in headers:
        parsed = _parse_key(item.key, names_of_role)
        if isinstance(parsed, str):
            problems.append(parsed)
            continue
        case, role, name = parsed
        roles = cases.setdefault(case, {role: {} for role in ROLES})
        if name in roles[role]:
            problems.append(
                f"{item.key}: {role[:-1]} {name} is recorded twice, also as {roles[role][name].key}"
            )
        roles[role][name] = item
    if not cases and not problems:
        problems.append("it contains no arrays")
    return cases, problems


def _parse_key(
    key: str, names_of_role: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str, str] | str:
    """The (case, role, name) that a key denotes, or the problem with it."""
    role, _, rest = key.partition("/")
    if role in ROLES and rest in names_of_role[role]:
        return ONLY_CASE, role, rest
    owners = [role for role in ROLES if key in names_of_role[role]]
    if len(owners) == 1:
        return ONLY_CASE, owners[0], key
    if owners:
        return (
            f"{key}: is both an input and an output; call the arrays inputs/{key} and outputs/{key}"
        )
    if (match := CASE.fullmatch(key)) is not None and match[3] in names_of_role[match[2]]:
        return match[1], match[2], match[3]
    names = [*names_of_role["inputs"], *names_of_role["outputs"]]
    listed = "; ".join(f"{role} are {', '.join(names_of_role[role]) or 'none'}" for role in ROLES)
    similar = did_you_mean(key.rpartition("/")[2], names)
    return f"{key}: the model has no such input or output{similar}; {listed}"


def _case_problems(
    case: str, roles: Mapping[str, Mapping[str, RecordedArray]], ends: ModelInterface
) -> list[str]:
    """List the inputs and outputs that are missing in a case, and dtypes and shapes that do not
    match.
    """
    prefix = "" if case == ONLY_CASE else f"{case}: "
    problems, sizes = [], dict[str, int]()
    for role in ROLES:
        for name, (dtype, shape) in ends.of(role).items():
            item = roles[role].get(name)
            if item is None:
                problems.append(f"{prefix}{role[:-1]} {name} is missing")
                continue
            if _dtype_differs(item.dtype, dtype):
                advice = (
                    ""
                    if STRING in (dtype, item.dtype.name) or item.dtype.kind == "U"
                    else f"; save it with .astype({dtype!r})"
                )
                problems.append(f"{item.key}: is {item.dtype}, expected {dtype}{advice}")
            if not _fits(shape, item.shape, sizes, exact=role == "inputs"):
                values = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                problems.append(
                    f"{item.key}: is {list(item.shape)}, expected"
                    f" {ends.shown(shape)}{values and f' with {values}'}"
                )
    return problems


def _dtype_differs(recorded: np.dtype[Any], expected: str) -> bool:
    return (
        recorded.kind != "U"
        if expected == STRING
        else recorded.newbyteorder("=") != np.dtype(expected)
    )


def _fits(
    declared: Sequence[Size], shape: Sequence[int], sizes: dict[str, int], *, exact: bool
) -> bool:
    """Whether a shape matches the declared one for some sizes, which are added to `sizes`. Unless
    `exact`, data-dependent sizes of an output match any number.
    """
    if len(declared) != len(shape):
        return False
    for size, number in zip(declared, shape, strict=True):
        unsolved = symbols.names([size]) - sizes.keys()
        if not exact and unsolved:
            continue
        try:
            solve([size], [number], sizes)
        except (ShapeError, KeyError):
            return False
    return True


def _value_problem(array: Array, role: str) -> str | None:
    """Why values cannot be inputs, or reference outputs; None if they can."""
    if array.dtype.kind != "f":
        return None
    if role == "outputs":
        count = int(np.isnan(array).sum())
        return (
            f"contains {count} NaN, which no result can be compared with; record other inputs"
            if count
            else None
        )
    count = int((~np.isfinite(array)).sum())
    return f"contains {count} numbers that are not finite; record other inputs" if count else None

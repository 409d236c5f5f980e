"""Modules that a Python function returns, with weights from a file if the function only creates the
structure.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from webkiln.errors import RecipeError, SourceError, WebkilnError
from webkiln.frontends.core.model_functions import check_parameters
from webkiln.frontends.torch.block_weights import BlockWeights
from webkiln.frontends.torch.coded_modules import keep_codes
from webkiln.frontends.torch.quantized_modules import plain_linears
from webkiln.frontends.torch.source import examples, exported, first_line
from webkiln.frontends.torch.weights import read_state

RENAMING = "state_dict"
"""A function of the user's module that maps the tensors of a weight file to a state dict."""
CODES = frozenset({torch.int8, torch.uint8, torch.int16, torch.int32})
"""Dtypes of codes, which are no weights without their scales."""
SHOWN = 8


def factory_program(
    source: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int | str]],
    weights: Path | None = None,
    config: Path | None = None,
) -> torch.export.ExportedProgram:
    """Export the result of `function` of `module`: a module, or a module and example inputs. Inputs
    may also come from the recipe's input shapes. `config` is the JSON file that says how quantized
    `weights` are stored.
    """
    where = f"{source['module']}:{source['function']}"
    module, inputs = _call_factory(source, where)
    module, stored = plain_linears(module, where)
    if weights is not None:
        _fill(module, weights, config, source, where)
    else:
        keep_codes(module, stored)
    module.eval()
    if shapes or inputs is None:
        names = _names(module)
        input_names = (
            names[: len(inputs)]
            if inputs is not None
            else [name for name in names if name in shapes] or names[:1]
        )
        dtypes = (
            [item.dtype for item in inputs]
            if inputs is not None
            else [torch.float32] * len(input_names)
        )
        example_shapes = {
            name: list(item.shape) for name, item in zip(input_names, inputs or (), strict=False)
        }
        inputs, dynamic = examples(
            input_names,
            {**example_shapes, **shapes} if "" not in shapes or len(input_names) > 1 else shapes,
            dtypes,
            where,
        )
        return exported(module, inputs, dynamic, where)
    return exported(module, inputs, None, where)


def _call_factory(
    source: Mapping[str, Any], where: str
) -> tuple[torch.nn.Module, tuple[Any, ...] | None]:
    try:
        make = getattr(importlib.import_module(source["module"]), source["function"], None)
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {first_line(error)}") from error
    if not callable(make):
        raise RecipeError(
            f"{where}: the module has no function {source['function']!r}; it returns a"
            " torch.nn.Module, or one and its example inputs"
        )
    check_parameters(where, make, **source["parameters"])
    torch.manual_seed(0)
    try:
        result = make(**source["parameters"])
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {first_line(error)}") from error
    module, inputs = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    if not isinstance(module, torch.nn.Module):
        raise SourceError(
            f"{where}: returned {type(module).__name__}, expected a torch.nn.Module, or one and its"
            " example inputs"
        )
    if inputs is not None and not isinstance(inputs, list | tuple):
        inputs = (inputs,)
    return module, None if inputs is None else tuple(inputs)


def _names(module: torch.nn.Module) -> list[str]:
    import inspect

    return [
        name
        for name, parameter in inspect.signature(module.forward).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def _fill(
    module: torch.nn.Module,
    weights: Path,
    config: Path | None,
    source: Mapping[str, Any],
    where: str,
) -> None:
    """Load the tensors of a file into a module, by the names of its state dict, or by those that
    `state_dict` of its Python module returns.
    """
    own, name = module.state_dict(), weights.name
    rename = getattr(sys.modules[source["module"]], RENAMING, None)
    quantized: dict[int, BlockWeights] = {}
    whole = read_state(
        weights, own.keys(), joined=callable(rename), quantized=quantized, config=config
    )
    state = whole
    if callable(rename):
        state = _renamed(rename, state, f"{source['module']}:{RENAMING}")
    problems = []
    if missing := sorted(own.keys() - state.keys()):
        problems.append(
            f"lacks {len(missing)} of {len(own)} weights of {where}: {_first_names(missing)}"
        )
    if spare := sorted(state.keys() - own.keys()):
        problems.append(f"has unknown weights ({len(spare)}): {_first_names(spare)}")
    if problems:
        advice = (
            f"change {RENAMING}"
            if callable(rename)
            else (
                f"define in {source['module']} a function {RENAMING}(tensors) that accepts the"
                " tensors of the file by name"
            )
        )
        raise SourceError(
            f"{name}: {', and '.join(problems)}; {advice} and returns those of the model by name"
        )
    for key, value in own.items():
        if value.shape != state[key].shape:
            raise SourceError(
                f"{name}: {key} is {list(state[key].shape)}, {where} has {list(value.shape)} there"
            )
        if value.is_floating_point() and state[key].dtype in CODES:
            raise SourceError(
                f"{name}: {key} is {state[key].dtype}, {where} has {value.dtype} there: its scales"
                f" are unknown; multiply by them in a function {RENAMING}(tensors)"
            )
    module.load_state_dict({key: state[key].to(own[key].dtype) for key in own})
    keep_codes(
        module,
        {
            key: quantized[id(state[key])]
            for key in own
            if id(state[key]) in quantized and own[key].dtype == torch.float32
        },
    )


def _renamed(
    rename: Callable[[dict[str, torch.Tensor]], Any], state: dict[str, torch.Tensor], where: str
) -> dict[str, torch.Tensor]:
    try:
        result = rename(state)
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {first_line(error)}") from error
    if not isinstance(result, dict) or not all(
        isinstance(value, torch.Tensor) for value in result.values()
    ):
        raise SourceError(
            f"{where}: returned {type(result).__name__}, expected a dict of names and tensors"
        )
    return result


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")

"""Call a Python function that returns a chain, with these modules as `chainer`, and record the
chain's nodes.
"""

import importlib
import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import RecipeError, SourceError, WebkilnError
from webkiln.frontends.chainer.converter import DOMAIN
from webkiln.frontends.chainer.link import Link
from webkiln.frontends.chainer.links.states import Stateful
from webkiln.frontends.chainer.modules import replaced_modules
from webkiln.frontends.chainer.parts import RecordedModel
from webkiln.frontends.chainer.recorder import ChainRecorder, recording
from webkiln.frontends.chainer.serializers import load
from webkiln.frontends.chainer.variable import ChainVariable, Parameter
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.model_functions import check_parameters
from webkiln.frontends.nodes.spec import to_json

RETURNS = (
    "it returns a chainer.Chain, a method of one or another function of variables, or one of these"
    " and its example inputs"
)


def record_function(
    source: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int | str]],
    weights: Path | None = None,
) -> tuple[RecordedModel, Blobs]:
    """The recording of the chain that `function` of `module` returns, with the weights of a
    snapshot. Inputs have the types of the examples, or those in `shapes`.
    """
    where = f"{source['module']}:{source['function']}"
    with replaced_modules():
        model, examples = _built_model(source, where)
        if weights is not None:
            root = owner_of(model)
            if root is None:
                raise SourceError(
                    f"{where}: returned a {type(model).__name__}, which has no weights; return the"
                    " chain of the snapshot, or one of its methods"
                )
            load(weights, root, where)
        inputs = _inputs(model, examples, shapes, where)
        first, blobs = _recorded(model, inputs, where)
        second, _ = _recorded(model, inputs, where)
    if to_json(first) != to_json(second):
        raise SourceError(
            f"{where}: a second call computes differently; attributes that change from one call to"
            " the next are not recorded: return them as outputs and pass them as inputs"
        )
    return first, blobs


def owner_of(model: Any) -> Link | None:
    """The link that has the model's weights: the model itself, or the owner of the method."""
    root = getattr(model, "__self__", model)
    return root if isinstance(root, Link) else None


def _built_model(source: Mapping[str, Any], where: str) -> tuple[Any, tuple[Any, ...] | None]:
    make = getattr(
        _run(lambda: importlib.import_module(source["module"]), where), source["function"], None
    )
    if not callable(make):
        raise RecipeError(f"{where}: the module has no function {source['function']!r}; {RETURNS}")
    check_parameters(where, make, **source["parameters"])
    np.random.seed(0)  # noqa: NPY002 - what scripts of Chainer draw from
    returned = _run(lambda: make(**source["parameters"]), where)
    model, examples = (
        returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)
    )
    if not callable(model):
        raise SourceError(f"{where}: returned {type(model).__name__}; {RETURNS}")
    return model, examples if examples is None or isinstance(examples, tuple) else (examples,)


def _run(function: Callable[[], Any], where: str) -> Any:
    """Run user code. Its exceptions are reported with file and line."""
    try:
        return function()
    except WebkilnError as error:
        error.args = (f"{where}: {_location(error)}{error}",)
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), "")[:300]
        raise SourceError(f"{where}: {_location(error)}{type(error).__name__}: {first}") from error


def _location(error: BaseException) -> str:
    package = str(Path(__file__).parents[2])
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((package, "<frozen", inspect.__file__[:-10]))
    ]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}: " if frames else ""


Example = tuple[str, str, tuple[int | str, ...]]
"""The name, dtype and shape of an input."""


def _inputs(
    model: Any,
    examples: tuple[Any, ...] | None,
    shapes: Mapping[str, Sequence[int | str]],
    where: str,
) -> list[Any]:
    """The inputs of a call, nested like its arguments."""
    names = _parameters(model)
    if examples is None:
        given = [name for name in names if name in shapes] or names[:1]
        if not shapes:
            raise SourceError(
                f"{where}: the shape of the input {given[0]} is not known; set it with"
                f" --input-shape {given[0]}=1,3,224,224, or return the model and example inputs"
            )
        examples = tuple(None for _ in given)
    named = [
        (names[index] if index < len(names) else f"input_{index}", example)
        for index, example in enumerate(examples)
    ]
    leaves = [name for name, example in named for name in _leaves(name, example)]
    if unknown := sorted(set(shapes) - {*leaves, ""}):
        raise SourceError(
            f"{where}: there is no input {', '.join(unknown)}; inputs are {', '.join(leaves)}"
        )
    if "" in shapes and len(leaves) != 1:
        raise SourceError(
            f"{where}: the inputs are {', '.join(leaves)}; name the input of the shape, as in"
            f" {leaves[0]}=1,3,224,224"
        )
    return [_example(name, example, shapes, where) for name, example in named]


def _leaves(name: str, example: Any) -> list[str]:
    if isinstance(example, list | tuple):
        return [
            leaf for index, item in enumerate(example) for leaf in _leaves(f"{name}_{index}", item)
        ]
    return [name]


def _example(name: str, example: Any, shapes: Mapping[str, Sequence[int | str]], where: str) -> Any:
    if isinstance(example, list | tuple):
        return [
            _example(f"{name}_{index}", item, shapes, where) for index, item in enumerate(example)
        ]
    value = (
        example.array
        if isinstance(example, ChainVariable)
        else None
        if example is None
        else np.asarray(example)
    )
    shape = shapes.get(name, shapes.get(""))
    if shape is None and value is None:
        raise SourceError(
            f"{where}: the shape of the input {name} is not known; set it with --input-shape"
            f" {name}=1,3,224,224"
        )
    if shape is not None and value is not None and len(shape) != value.ndim:
        raise SourceError(
            f"{where}: the input {name} has {value.ndim} axes, {list(value.shape)}; got"
            f" {list(shape)}"
        )
    example_shape = () if value is None else value.shape
    return (
        name,
        "float32" if value is None else str(value.dtype),
        tuple(example_shape if shape is None else shape),
    )


def _parameters(model: Any) -> list[str]:
    function = (
        model.forward
        if isinstance(model, Link) and type(model).__call__ is Link.__call__
        else model
    )
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [
        item.name for item in inspect.signature(function).parameters.values() if item.kind in kinds
    ]
    return named or ["x"]


def _recorded(model: Any, inputs: list[Any], where: str) -> tuple[RecordedModel, Blobs]:
    """Record one call of the model, starting from its initial states."""
    root = owner_of(model)
    owners: dict[int, str] = {}
    links = (
        [(path.lstrip("/"), link) for path, link in root.namedlinks()] if root is not None else []
    )
    if root is not None:
        for path, param in root.namedparams():
            owners.setdefault(id(param), path.lstrip("/"))
        for path, link, name in root.named_persistent():
            owners.setdefault(id(getattr(link, name)), path.lstrip("/"))
    recorder = ChainRecorder(owners)
    for path, link in reversed(links):
        recorder.links[id(link)] = path
    with recording(recorder):
        variables = [_variable(recorder, item) for item in inputs]
        result = _run(lambda: model(*variables), where)
        outputs = _outputs(recorder, result, where)
        for path, link in links:
            if isinstance(link, Stateful):
                link.keep(recorder, path or "state", DOMAIN)
    _check_defined(recorder, where)
    return recorder.model(where.rpartition(":")[2], outputs), recorder.blobs


def _variable(recorder: ChainRecorder, item: Any) -> Any:
    return (
        [_variable(recorder, part) for part in item]
        if isinstance(item, list)
        else ChainVariable.of(recorder, recorder.input(*item))
    )


def _outputs(recorder: ChainRecorder, result: Any, where: str) -> dict[str, str]:
    outputs: dict[str, str] = {}

    def collect(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                collect(f"{name}_{key}" if name != "output" else str(key), item)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                collect(f"{name}_{index}", item)
        elif value is not None:
            if not isinstance(value, ChainVariable | np.ndarray):
                raise SourceError(
                    f"{where}: the model returned {type(value).__name__},"
                    " expected variables, in lists, tuples or dicts"
                )
            outputs[name] = (
                value if isinstance(value, ChainVariable) else ChainVariable(value)
            ).tensor(recorder)

    collect("output", result)
    if not outputs:
        raise SourceError(f"{where}: the model returned nothing")
    return outputs


def _check_defined(recorder: ChainRecorder, where: str) -> None:
    """Raise SourceError if the call read undefined weights."""
    missing = [
        recorder.owners.get(id(owner), owner.name or "a weight")
        for _, owner in recorder.arrays_read
        if isinstance(owner, Parameter) and not owner.is_defined
    ]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise SourceError(
            f"{where}: no weights were loaded for {', '.join(missing[:3])}{more}; pass a snapshot"
            " with --weights FILE.npz, or load one in the function with"
            " chainer.serializers.load_npz"
        )

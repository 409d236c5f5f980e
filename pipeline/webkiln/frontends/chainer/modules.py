"""The modules that scripts import as `chainer`, whether Chainer is installed or not."""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer import initializers, serializers
from webkiln.frontends.chainer.functions.padding import concat_examples
from webkiln.frontends.chainer.functions.table import FUNCTIONS
from webkiln.frontends.chainer.functions.ufuncs import install
from webkiln.frontends.chainer.link import Chain, ChainList, Link, SequentialChain
from webkiln.frontends.chainer.links.table import LINKS
from webkiln.frontends.chainer.recorder import nothing_recorded
from webkiln.frontends.chainer.settings import CONFIG, CPU, nothing, using_config, usual_config
from webkiln.frontends.chainer.variable import ChainVariable, Parameter, as_variable

ROOT, ARRAYS = "chainer", "chainerx"
"""The packages: `chainer`, and `chainerx`, which is reported as unavailable."""
VERSION = "7.8.1"


class Unused:
    """Names for training. They can be stored and subclassed, but not called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> "Unused":
        if name.startswith("__"):
            raise AttributeError(name)
        return Unused(f"{self._name}.{name}")

    def __call__(self, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and callable(args[0]) and not options:
            return args[0]
        raise SourceError(
            f"{self._name} is not run: the function builds a"
            " model for inference; omit training and data"
        )

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()


class Function:
    """A script's own chainer.Function or FunctionNode. Its forward is recorded; it may use
    functions of numpy and chainer.
    """

    def __call__(self, *inputs: Any) -> Any:
        outputs = self.apply(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def apply(self, inputs: Any) -> tuple[ChainVariable, ...]:
        forward = getattr(self, "forward_cpu", None) or self.forward
        return tuple(map(as_variable, forward(tuple(map(as_variable, inputs)))))

    def forward(self, inputs: Any) -> Any:
        raise SourceError(f"{type(self).__name__} has no forward")

    def retain_inputs(self, *indices: Any) -> None:
        pass

    retain_outputs = mark_non_differentiable = retain_inputs


def _cuda() -> dict[str, Any]:
    same = lambda x, *given, **options: x  # noqa: E731
    return {
        "available": False,
        "cudnn_enabled": False,
        "get_array_module": lambda *xs: np,
        "to_cpu": same,
        "to_gpu": same,
        "ndarray": type(None),
        "check_cuda_available": Unused("chainer.cuda.check_cuda_available"),
        "get_device": lambda *xs: nothing(),
        "get_device_from_id": lambda *xs: nothing(),
        "get_device_from_array": lambda *xs: nothing(),
    }


def _backend() -> dict[str, Any]:
    return {
        "get_array_module": lambda *xs: np,
        "get_device": lambda *xs: CPU,
        "to_numpy": lambda x: x,
        "using_device": nothing,
        "get_device_from_array": lambda *xs: CPU,
        "CpuDevice": lambda: CPU,
        "copyto": np.copyto,
    }


def _main() -> dict[str, Any]:
    return {
        "__version__": VERSION,
        "Variable": ChainVariable,
        "Parameter": Parameter,
        "Link": Link,
        "Chain": Chain,
        "ChainList": ChainList,
        "Sequential": SequentialChain,
        "FunctionSet": Chain,
        "Function": Function,
        "FunctionNode": Function,
        "config": CONFIG,
        "global_config": CONFIG,
        "using_config": using_config,
        "no_backprop_mode": nothing,
        "force_backprop_mode": nothing,
        "using_device": nothing,
        "as_variable": as_variable,
        "as_array": lambda x: x.array if isinstance(x, ChainVariable) else x,
        "is_debug": lambda: False,
        "is_arrays_compatible": lambda xs: True,
        "get_array_types": lambda: (np.ndarray, ChainVariable),
        "get_dtype": _dtype,
        "get_device": lambda *given: CPU,
        "report": lambda *given, **options: None,
        "set_debug": lambda on: None,
        "should_use_cudnn": lambda *given: False,
        "get_array_module": lambda *xs: np,
        "AbstractSerializer": object,
        "Serializer": object,
    }


def _dtype(dtype: Any = None, map_mixed16: Any = None) -> Any:
    return np.dtype(CONFIG.dtype if dtype is None else dtype)


def contents() -> Mapping[str, dict[str, Any]]:
    """The contents of each module. Other modules have nothing that can be called."""
    functions: dict[str, Any] = {
        "MaxPooling2D": "max",
        **FUNCTIONS,
        **{name: link for name, link in LINKS.items() if name not in FUNCTIONS},
    }
    return {
        ROOT: _main(),
        ARRAYS: {"ndarray": type(None), "is_available": lambda: False},
        f"{ROOT}.functions": functions,
        f"{ROOT}.links": dict(LINKS),
        f"{ROOT}.initializers": dict(initializers.NAMES),
        f"{ROOT}.serializers": dict(serializers.NAMES),
        f"{ROOT}.cuda": _cuda(),
        f"{ROOT}.backends.cuda": _cuda(),
        f"{ROOT}.backend": _backend(),
        f"{ROOT}.variable": {
            "Variable": ChainVariable,
            "Parameter": Parameter,
            "as_variable": as_variable,
        },
        f"{ROOT}.link": {"Link": Link, "Chain": Chain, "ChainList": ChainList},
        f"{ROOT}.sequential": {"Sequential": SequentialChain},
        f"{ROOT}.function": {
            "Function": Function,
            "no_backprop_mode": nothing,
            "force_backprop_mode": nothing,
        },
        f"{ROOT}.function_node": {"FunctionNode": Function},
        f"{ROOT}.configuration": {"config": CONFIG, "using_config": using_config},
        f"{ROOT}.dataset": {"concat_examples": concat_examples},
        f"{ROOT}.dataset.convert": {"concat_examples": concat_examples},
        f"{ROOT}.reporter": {"report": lambda *given, **options: None},
        f"{ROOT}.utils": {"force_array": np.asarray},
        f"{ROOT}.functions.activation": functions,
        f"{ROOT}.functions.array": functions,
        f"{ROOT}.functions.math": functions,
    }


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook for all modules of the package."""

    def __init__(self) -> None:
        self.contents = contents()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.machinery.ModuleSpec(name, self, is_package=True)
            if name.partition(".")[0] in (ROOT, ARRAYS)
            else None
        )

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        vars(module).update(self.contents.get(name, self._inside(name)))
        children = {
            f"{ROOT}.{part}"
            for part in (
                "functions",
                "links",
                "initializers",
                "serializers",
                "cuda",
                "backends",
                "backend",
                "variable",
            )
        }

        def missing(attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            inner = f"{name}.{attribute}"
            if inner in self.contents or inner in children:
                return importlib.import_module(inner)
            if name in (f"{ROOT}.functions", f"{ROOT}.links"):
                raise AttributeError(
                    f"{name} has no {attribute}, in any supported version of Chainer"
                )
            return Unused(inner)

        vars(module)["__getattr__"] = missing

    def _inside(self, name: str) -> dict[str, Any]:
        """The functions or links of a submodule such as chainer.functions.activation.relu."""
        for kind in ("functions", "links"):
            if name.startswith(f"{ROOT}.{kind}."):
                return self.contents[f"{ROOT}.{kind}"]
        return {}


@contextmanager
def replaced_modules() -> Iterator[None]:
    """Use these modules as `chainer` in the block. Nothing is recorded yet."""
    install()

    def take() -> dict[str, ModuleType]:
        return {
            name: sys.modules.pop(name)
            for name in list(sys.modules)
            if name.partition(".")[0] in (ROOT, ARRAYS)
        }

    before, finder = take(), StandIns()
    sys.meta_path.insert(0, finder)
    try:
        with nothing_recorded(), usual_config():
            yield
    finally:
        sys.meta_path.remove(finder)
        take()
        sys.modules.update(before)

"""Replacements for `chainer.Variable` and `chainer.Parameter`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.chainer.dtypes import CODES
from webkiln.frontends.chainer.initializers import Initial, initial_of
from webkiln.frontends.chainer.recorder import (
    ACTIVE,
    ChainRecorder,
    attribute,
    shape_of,
    size_operand,
)
from webkiln.frontends.chainer.settings import OnCpu
from webkiln.frontends.chainer.sizes import OpenSize, is_open
from webkiln.ir.types import Array

FOREIGN = (
    "comes from another recording: the model keeps what one call computed for the next one in an"
    " attribute of its own; return it as an output and take it as an input, or let a stateful link"
    " of chainer.links keep it"
)


class ChainVariable(OnCpu):
    """An array, or a node's result. A result has a shape and a dtype, but no values."""

    if TYPE_CHECKING:

        def __getitem__(self, slices: Any) -> "ChainVariable": ...

    ufuncs: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Methods of numpy arrays, by name."""
    __array_priority__ = 200
    __hash__ = object.__hash__

    def __init__(self, data: Any = None, **ignored: Any) -> None:
        self.name = ignored.get("name")
        self._array: Array | None = None
        self._recorder: ChainRecorder | None = None
        self._tensor = ""
        self.requires_grad = False
        self.grad = self.creator = None
        if isinstance(data, ChainVariable):
            self._array, self._recorder, self._tensor = data._array, data._recorder, data._tensor
        elif data is not None:
            self._array = np.asarray(data)

    @classmethod
    def of(cls, recorder: ChainRecorder, tensor: str) -> "ChainVariable":
        variable = ChainVariable()
        variable._recorder, variable._tensor = recorder, tensor
        return variable

    @property
    def is_recorded(self) -> bool:
        return self._recorder is not None

    def tensor(self, recorder: ChainRecorder) -> str:
        """The tensor in a recording."""
        if self._recorder is None:
            if self._array is None:
                raise SourceError(
                    "the code computes with a variable without an"
                    " array{f': {self.name}' if self.name else ''}"
                )
            return recorder.array(self._array)
        if self._recorder is not recorder:
            raise SourceError(f"a value of {list(self.shape)} {FOREIGN}")
        return self._tensor

    def tensor_in(self, recorder: ChainRecorder) -> str:
        """The tensor in a recording; "" if it belongs to another recording or to none."""
        return self._tensor if self._recorder is recorder else ""

    @property
    def shape(self) -> tuple[Any, ...]:
        if self._recorder is not None:
            return shape_of(self._recorder.type(self._tensor))
        return () if self._array is None else self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        if self._recorder is not None:
            return np.dtype(self._recorder.type(self._tensor).dtype)
        return np.dtype(np.float32) if self._array is None else self._array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        total: Any = 1
        for size in self.shape:
            total = total * size
        return total

    @property
    def array(self) -> Any:
        """The array if it is known; otherwise this variable, which supports array operations."""
        return self if self._recorder is not None else self._array

    @array.setter
    def array(self, value: Any) -> None:
        if isinstance(value, ChainVariable):
            self._array, self._recorder, self._tensor = value._array, value._recorder, value._tensor
        else:
            self._array, self._recorder = None if value is None else np.asarray(value), None
        self._assigned()

    data = array

    def _assigned(self) -> None:
        """A hook: parameters record that they were assigned."""

    @property
    def known(self) -> Array | None:
        """The array, if it does not depend on inputs."""
        if self._recorder is None:
            return self._array
        value = self._recorder.values[self._tensor]
        return np.asarray(value.value) if value.is_constant else None

    @property
    def node(self) -> "ChainVariable":
        return self

    @property
    def rank(self) -> int:
        return 0

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        size = self.shape[0]
        return size.__index__() if is_open(size) else int(size)

    def __iter__(self) -> Iterator["ChainVariable"]:
        return (self[number] for number in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._value("the truth"))

    def __float__(self) -> float:
        return float(self._value("the number"))

    def __int__(self) -> int:
        return int(self._value("the number"))

    def __index__(self) -> int:
        return int(self._value("the number"))

    def item(self) -> Any:
        return self._value("the number").item()

    def __array__(self, *args: Any, **options: Any) -> Array:
        return np.asarray(self._value("the numbers"))

    def _value(self, what: str) -> Array:
        value = self.known
        if value is None:
            raise SourceError(
                f"the code needs {what} of a value of shape {list(self.shape)}, which is only known"
                " when the model runs; use functions of chainer.functions, such as F.where"
            )
        return value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """numpy functions of `.array` are the functions of chainer.functions."""
        if (
            method != "__call__"
            or options.get("out") is not None
            or ufunc.__name__ not in self.ufuncs
        ):
            raise SourceError(
                f"numpy.{ufunc.__name__} is applied to a value that is only known when the model"
                " runs; use chainer.functions"
            )
        return self.ufuncs[ufunc.__name__](*inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function.__name__ not in self.functions:
            raise SourceError(
                f"numpy.{function.__name__} is applied to a value that is only known when the model"
                " runs; use chainer.functions"
            )
        return self.functions[function.__name__](*inputs, **options)

    def __repr__(self) -> str:
        return f"variable({list(self.shape)}, {self.dtype})"

    def cleargrad(self) -> None:
        pass

    zerograd = unchain = unchain_backward = to_cpu = cleargrad

    def backward(self, *args: Any, **options: Any) -> None:
        raise SourceError("gradients are not computed: the returned model is run for inference")

    def to_gpu(self, device: Any = None) -> None:
        pass

    to_device = to_gpu


class Parameter(ChainVariable):
    """A parameter. Its shape may be unknown until it is loaded or an input is seen."""

    def __init__(
        self, initializer: Any = None, shape: Any = None, name: str | None = None, **ignored: Any
    ) -> None:
        super().__init__(name=name)
        self.initial = initial_of(initializer)
        if shape is not None:
            self.initialize(shape)
        elif isinstance(initializer, np.ndarray) or np.isscalar(initializer):
            self.initialize(np.shape(initializer))

    def initialize(self, shape: Any) -> None:
        sizes = (shape,) if isinstance(shape, int | OpenSize) else tuple(shape)
        if any(map(is_open, sizes)):
            raise ShapeError(
                f"the weight {self.name or ''} would have the"
                f" open size {sizes}; set it in input_shapes"
            )
        self._array = self.initial.array(tuple(int(size) for size in sizes))

    def _assigned(self) -> None:
        self.initial = Initial(0)

    @property
    def is_initialized(self) -> bool:
        return self._array is not None

    @property
    def is_defined(self) -> bool:
        """Whether its values are defined: loaded, assigned or constant, but not random."""
        return self._array is not None and not self.initial.is_untouched(self._array)

    def tensor(self, recorder: ChainRecorder) -> str:
        if self._array is None:
            raise SourceError(
                f"the weight {self.name or ''} has no shape"
                " yet; load a snapshot, or set its input size"
            )
        return recorder.array(self._array, self, self.name or "weight")


def operand(recorder: ChainRecorder, value: Any, like: ChainVariable | None = None) -> str:
    """The tensor of any operand. Python numbers have the dtype of `like`."""
    if value is None:
        return ""
    if isinstance(value, ChainVariable):
        return value.tensor(recorder)
    if isinstance(value, OpenSize):
        value = ChainVariable.of(
            recorder,
            recorder.record("Squeeze", [size_operand(recorder, [value])], {"axes": (0,)}, 1, "")[0],
        )
        return (
            node("Cast", value, to=CODES[str(like.dtype)])._tensor
            if like is not None
            else value._tensor
        )
    if isinstance(value, tuple | list) and any(map(is_open, value)):
        return size_operand(recorder, value)
    if isinstance(value, bool | int | float) or (
        isinstance(value, np.generic) and like is not None and value.ndim == 0
    ):
        return recorder.array(
            np.asarray(
                value,
                (
                    like.dtype
                    if like is not None
                    else np.float32
                    if isinstance(value, float)
                    else np.int64
                ),
            )
        )
    return recorder.array(np.asarray(value), value if isinstance(value, np.ndarray) else None)


def nodes(
    op: str, count: int, *operands: Any, domain: str = "", **attrs: Any
) -> tuple[ChainVariable, ...]:
    """Record a node. An operand may be a variable, an array, a number or None."""
    recorder = ACTIVE.current()
    variables = [item for item in operands if isinstance(item, ChainVariable)]
    like = next(
        (item for item in variables if item.dtype != bool), variables[0] if variables else None
    )
    tensors = [operand(recorder, item, like) for item in operands]
    while tensors and not tensors[-1]:
        tensors.pop()
    outputs = recorder.record(
        op,
        tensors,
        {name: attribute(value) for name, value in attrs.items() if value is not None},
        count,
        domain,
    )
    return tuple(ChainVariable.of(recorder, name) for name in outputs)


def node(op: str, *operands: Any, domain: str = "", **attrs: Any) -> ChainVariable:
    return nodes(op, 1, *operands, domain=domain, **attrs)[0]


def sizes(values: Sequence[Any]) -> ChainVariable:
    """Sizes as an operand."""
    recorder = ACTIVE.current()
    return ChainVariable.of(recorder, size_operand(recorder, list(values)))


def as_variable(value: Any) -> ChainVariable:
    return value if isinstance(value, ChainVariable) else ChainVariable(value)

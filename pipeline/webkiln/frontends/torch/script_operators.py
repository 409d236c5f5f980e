"""Operators of TorchScript: on Python values and on tensors."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from webkiln.errors import SourceError
from webkiln.frontends.torch.recurrences import PACKED
from webkiln.frontends.torch.script_attributes import ScriptAttributes


def _slice(items: Any, start: int | None, end: int | None, step: int | None = 1) -> Any:
    return items[slice(start, end, step)]


def _append(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def _set(items: Any, key: Any, value: Any) -> Any:
    items[key] = value
    return items


PYTHON_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha=1: a + b if alpha == 1 else a + b * alpha,
    "sub": lambda a, b, alpha=1: a - b * alpha,
    "mul": operator.mul,
    "div": lambda a, b, mode=None: (
        operator.truediv(a, b) if mode is None else operator.floordiv(a, b)
    ),
    "floordiv": operator.floordiv,
    "remainder": operator.mod,
    "mod": operator.mod,
    "neg": operator.neg,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__not__": operator.not_,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "__contains__": lambda items, item: item in items,
    "__getitem__": operator.getitem,
    "_set_item": _set,
    "append": _append,
    "len": len,
    "list": list,
    "format": lambda text, *items: text,
    "str": str,
    "join": lambda text, items: text.join(items),
    "ceil": lambda x: x if isinstance(x, torch.SymInt) else math.ceil(x),
    "floor": lambda x: x if isinstance(x, torch.SymInt) else math.floor(x),
    "sqrt": lambda x: x**0.5,
    "Int": torch.sym_int,
    "Float": torch.sym_float,
    "Bool": lambda x: x if isinstance(x, torch.SymBool) else bool(x),
    "abs": abs,
    "slice": _slice,
    "log": math.log,
    "round": round,
    "keys": lambda table: list(table.keys()),
    "values": lambda table: list(table.values()),
    "items": lambda table: list(table.items()),
    "copy": lambda items: items.copy(),
    "extend": lambda items, more: items.extend(more),
    "insert": lambda items, index, item: items.insert(index, item),
    "pop": lambda items, index=-1: items.pop(index),
    "warn": lambda *args: None,
    "index": lambda items, item: items.index(item),
    "reverse": lambda items: items.reverse(),
    "exp": math.exp,
    "upper": str.upper,
    "lower": str.lower,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "prod": math.prod,
    "__xor__": operator.xor,
    "max": max,
    "min": min,
    "floor_divide": operator.floordiv,
    "true_divide": operator.truediv,
    "rsub": lambda a, b: b - a,
    "detach": lambda x: x,
    "clone": lambda x: x,
    "to": lambda x, *more: x,
    "item": lambda x: x,
    "IntImplicit": lambda x: x,
    "FloatImplicit": lambda x: x,
    "ScalarImplicit": lambda x: x,
}
"""By TorchScript's names of operations on numbers, strings and lists."""
PRIM_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "prim::NumToTensor": lambda x: x,
    "prim::ListConstruct": lambda *items: list(items),
    "prim::TupleConstruct": lambda *items: tuple(items),
    "prim::DictConstruct": lambda *items: dict(zip(items[::2], items[1::2], strict=True)),
    "prim::TupleIndex": operator.getitem,
    "prim::unchecked_cast": lambda x: x,
    "prim::unchecked_unwrap_optional": lambda x: x,
    "aten::_unwrap_optional": lambda x: x,
    "prim::dtype": lambda x: x.dtype,
    "prim::device": lambda x: x.device,
    "prim::layout": lambda x: x.layout,
    "prim::is_cuda": lambda x: False,
    "prim::requires_grad": lambda x: False,
    "prim::min": min,
    "prim::max": max,
    "prim::abs": abs,
    "prim::is_nested": lambda x: False,
    "prim::shape": lambda x: list(x.shape),
    "prim::Print": lambda *items: None,
    "prim::data": lambda x: x,
    "prim::grad": lambda x: None,
    "prim::isinstance": lambda *items: True,
    "prim::is_quantized": lambda x: False,
    "prim::is_mkldnn": lambda x: False,
    "prim::is_sparse": lambda x: False,
    "prim::TupleUnpack": lambda items: items,
    "prim::ListUnpack": lambda items: items,
    "prim::Uninitialized": lambda: None,
    "prim::annotate": lambda x: x,
    "aten::dim": lambda x: x.dim(),
    "prim::rangelist": lambda n: list(range(n)),
    "prim::ceil": math.ceil,
    "prim::itemsize": lambda x: x.itemsize,
    "prim::StringIndex": operator.getitem,
    "prim::index": lambda x: x.index,
}
DTYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    None,
    torch.complex64,
    torch.complex128,
    torch.bool,
    torch.qint8,
    torch.quint8,
    torch.qint32,
    torch.bfloat16,
)
"""By TorchScript's codes."""
NUMBERS = (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
ENUMERATIONS = {
    "memory_format": (
        torch.contiguous_format,
        torch.preserve_format,
        torch.channels_last,
        torch.channels_last_3d,
    ),
    "layout": (torch.strided,),
}


def number_dtype(x: Any) -> torch.dtype:
    return (
        torch.bool
        if isinstance(x, bool | torch.SymBool)
        else torch.float32
        if isinstance(x, float | torch.SymFloat)
        else torch.int64
    )


def call(
    program: ScriptAttributes,
    constants: Sequence[Tensor],
    node: Any,
    kind: str,
    operands: list[Any],
) -> Any:
    """The result of an operator, computed in Python if no operand is a tensor, otherwise by torch.
    Raises SourceError if the operator changes one of the constants in place.
    """
    if kind in PRIM_OPERATIONS and not (
        kind == "aten::dim" and not isinstance(operands[0], Tensor)
    ):
        return PRIM_OPERATIONS[kind](*operands)
    space, _, name = kind.partition("::")
    numbers = not any(
        isinstance(item, Tensor)
        or (isinstance(item, list | tuple) and any(isinstance(part, Tensor) for part in item))
        for item in operands
    )
    if (
        space == "aten"
        and name in PYTHON_OPERATIONS
        and (
            numbers
            or name
            in (
                "append",
                "__getitem__",
                "_set_item",
                "len",
                "list",
                "__is__",
                "__isnot__",
                "insert",
                "extend",
            )
        )
        and not (name in ("len", "__getitem__") and isinstance(operands[0], Tensor))
    ):
        return PYTHON_OPERATIONS[name](*operands)
    if name in (
        "Bool",
        "Int",
        "Float",
        "ScalarImplicit",
        "IntImplicit",
        "FloatImplicit",
    ) and isinstance(operands[0], Tensor):
        return operands[0].to(torch.bool).reshape(()) if name == "Bool" else operands[0].item()
    if name in ("__is__", "__isnot__"):
        return (operands[0] is operands[1]) == (name == "__is__")
    if name == "size":
        return list(operands[0].shape) if len(operands) == 1 else operands[0].shape[operands[1]]
    if name == "len":
        return operands[0].shape[0]
    if name == "format":
        return operands[0]
    return _call_torch(program, constants, node, space, name, operands)


def _call_torch(
    program: ScriptAttributes,
    constants: Sequence[Tensor],
    node: Any,
    space: str,
    name: str,
    operands: list[Any],
) -> Any:
    packet = getattr(getattr(torch.ops, space), name, None)
    schema = node.schema()
    if packet is None or schema == "(no schema)":
        raise SourceError(
            f"{space}::{name} is not an operator of this version of torch; save the model again"
        )
    if name == "_pack_padded_sequence":
        raise SourceError(PACKED)
    if name in ("floor_divide", "floor_divide_") and not program.dated:
        raise SourceError(
            "divides tensors with //, which rounded towards zero before torch 1.13 and rounds"
            " down since, and the file does not record which; write torch.div(a, b,"
            " rounding_mode='trunc') or 'floor', or save it again with torch 2.1 or newer to"
            " round down"
        )
    parsed = torch._C.parse_schema(schema)
    overload = getattr(packet, parsed.overload_name or "default")
    args, named = [], {}
    for argument, value in zip(overload._schema.arguments, operands, strict=False):
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and "ScalarType" in str(argument.real_type)
        ):
            value = DTYPES[value]  # noqa: PLW2901 - TorchScript's code of a dtype
        elif (
            isinstance(value, int) and argument.name in ENUMERATIONS and not isinstance(value, bool)
        ):
            value = ENUMERATIONS[argument.name][value]  # noqa: PLW2901 - also codes
        if str(argument.real_type) == "Tensor" and isinstance(value, NUMBERS):
            # traces represent sizes as tensors
            value = torch.scalar_tensor(value, dtype=number_dtype(value))  # noqa: PLW2901
        if (
            isinstance(value, Tensor)
            and argument.alias_info is not None
            and argument.alias_info.is_write
        ):
            if any(value is item for item in constants):
                raise SourceError(
                    f"{name} changes a constant in place; make it a buffer: self.register_buffer"
                )
            program.check_changed(value)
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            args.append(value)
    return overload(*args, **named)

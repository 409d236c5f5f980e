"""TorchScript: interpret its graph, operator by operator, in a module that torch.export traces.

Computations on Python numbers are evaluated immediately. Branches and loops that depend only on
numbers and shapes are resolved and unrolled; those that depend on data become torch.cond and
torch.while_loop. Assigned attributes are buffers.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from webkiln.errors import SourceError

MOST_STEPS = 1 << 16
"""The maximum number of unrolled iterations."""


class Raised(Exception):
    """An exception that the TorchScript program raised."""


def _slice(items: Any, start: int | None, end: int | None, step: int | None = 1) -> Any:
    return items[slice(start, end, step)]


def _append(items: list[Any], item: Any) -> list[Any]:
    items.append(item)
    return items


def _set(items: Any, key: Any, value: Any) -> Any:
    items[key] = value
    return items


OF_PYTHON: Mapping[str, Callable[..., Any]] = {
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
    "insert": lambda items, place, item: items.insert(place, item),
    "pop": lambda items, place=-1: items.pop(place),
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
OF_PRIM: Mapping[str, Callable[..., Any]] = {
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


WORDS = {
    "memory_format": (
        torch.contiguous_format,
        torch.preserve_format,
        torch.channels_last,
        torch.channels_last_3d,
    ),
    "layout": (torch.strided,),
}


def _dtype_of(x: Any) -> torch.dtype:
    return (
        torch.bool
        if isinstance(x, bool | torch.SymBool)
        else torch.float32
        if isinstance(x, float | torch.SymFloat)
        else torch.int64
    )


class AttributePath(tuple[str, ...]):
    """A reference to an attribute of the program, or a submodule as a value."""

    __slots__ = ()


class ScriptProgram(torch.nn.Module):  # type: ignore[misc]
    """A loaded TorchScript module, which shares its parameters and buffers. `dated`: the file shows
    that torch 2.1 or newer wrote it.
    """

    def __init__(self, script: torch.jit.ScriptModule, *, dated: bool = True) -> None:
        super().__init__()
        self.dated = dated
        self.names: set[str] = set()
        self.held: dict[Place, str] = {}
        self.shared: dict[int, set[str]] = {}
        for name, value in [*script.named_parameters(), *script.named_buffers()]:
            self._hold(name, value)
        self._script = (script,)
        graph = script.forward.graph
        torch._C._jit_pass_inline(graph)
        self._graph = (graph,)
        assigned, read = (_attributes(graph, kind) for kind in ("prim::SetAttr", "prim::GetAttr"))
        for name in sorted(assigned | read):
            value = script
            for part in name.split("."):
                value = getattr(value, part, None)
            if isinstance(value, Tensor) and name not in self.names:
                other = self.held.get(_place(value))
                if other is None or {name, other} & assigned:
                    self._hold(name, value)

    def _hold(self, name: str, value: Tensor) -> None:
        owner: torch.nn.Module = self
        *path, leaf = name.split(".")
        for part in path:
            if not hasattr(owner, part):
                owner.add_module(part, torch.nn.Module())
            owner = getattr(owner, part)
        names = self.shared.setdefault(_memory(value), set())
        owner.register_buffer(leaf, value.detach().clone() if names else value.detach())
        self.held.setdefault(_place(value), name)
        self.names.add(name)
        if value.numel():
            names.add(name)

    def check_changed(self, value: Tensor) -> None:
        """Raise SourceError if an in-place change would affect another name: here, each tensor has
        its own memory.
        """
        changed = {
            name for name, buffer in self.named_buffers() if _memory(buffer) == _memory(value)
        }
        for names in self.shared.values():
            if changed & names and len(names) > 1:
                raise SourceError(
                    f"{' and '.join(sorted(names))} share their memory, which is changed in place;"
                    " give each its own with .clone()"
                )

    @property
    def inputs(self) -> list[str]:
        """The names of the tensor arguments, and of other arguments without a value."""
        return [
            value.debugName().rpartition(".")[0] or value.debugName()
            for value in list(self._graph[0].inputs())[1:]
        ]

    def forward(self, *args: Any) -> Any:
        graph = self._graph[0]
        first, *rest = graph.inputs()
        values: dict[str, Any] = {first.debugName(): AttributePath()}
        defaults = _defaults(self._script[0])
        for position, value in enumerate(rest):
            values[value.debugName()] = (
                args[position] if position < len(args) else defaults[position]
            )
        results = _Run(self).block(graph, values)
        return results[0] if len(results) == 1 else tuple(results)


Place = tuple[int, tuple[int, ...], tuple[int, ...]]


def _place(value: Tensor) -> Place:
    """The identity of a tensor that has several names: its memory and layout."""
    return value.data_ptr() or id(value), tuple(value.shape), tuple(value.stride())


def _memory(value: Tensor) -> int:
    return int(value.untyped_storage()._cdata)


def _defaults(script: torch.jit.ScriptModule) -> list[Any]:
    return [argument.default_value for argument in script.forward.schema.arguments[1:]]


def _attributes(graph: Any, kind: str) -> set[str]:
    """The paths of attributes that nodes read or assign."""
    return {
        ".".join((*_path(next(iter(node.inputs()))), node.s("name")))
        for node in graph.findAllNodes(kind)
    }


def _path(value: Any) -> tuple[str, ...]:
    node = value.node()
    return (
        (*_path(next(iter(node.inputs()))), node.s("name"))
        if node.kind() == "prim::GetAttr"
        else ()
    )


class _Run:
    """One run of the graph."""

    def __init__(self, program: ScriptProgram) -> None:
        self.program = program
        self.attributes: dict[str, Any] = {}
        self.constants: list[Tensor] = []

    def block(self, block: Any, values: dict[str, Any]) -> list[Any]:
        """Run the nodes of a block. Returns its results."""
        for node in block.nodes():
            results = self.node(node, values)
            for output, result in zip(node.outputs(), results, strict=True):
                values[output.debugName()] = result
        outputs = block.outputs() if hasattr(block, "outputs") else []
        return [values[item.debugName()] for item in outputs]

    def node(self, node: Any, values: dict[str, Any]) -> Sequence[Any]:
        kind = node.kind()
        if kind == "prim::Constant":
            return [self.constant(node)]
        given = [values[item.debugName()] for item in node.inputs()]
        count = len(list(node.outputs()))
        if kind == "prim::GetAttr":
            return [self.attribute(given[0], node.s("name"))]
        if kind == "prim::SetAttr":
            self.set_attribute(given[0], node.s("name"), given[1])
            return []
        if kind == "prim::If":
            return self.branch(node, given[0], values)
        if kind == "prim::Loop":
            return self.loop(node, given, values)
        if kind == "prim::RaiseException":
            raise Raised(str(given[0]))
        result = self.applied(node, kind, given)
        return (
            list(result)
            if count != 1 and isinstance(result, list | tuple)
            else [result]
            if count
            else []
        )

    def constant(self, node: Any) -> Any:
        if not node.hasAttribute("value"):
            return None
        value = next(iter(node.outputs())).toIValue()
        if (
            isinstance(value, Tensor)
            and value.dim() == 0
            and value.dtype in (torch.float32, torch.float64, torch.int64, torch.bool)
        ):
            return (
                value.item()
            )  # traces represent Python numbers like this, and promote them accordingly
        if isinstance(value, Tensor):
            self.constants.append(value)
        return value

    def attribute(self, owner: Any, name: str) -> Any:
        path = AttributePath((*owner, name))
        dotted = ".".join(path)
        if dotted in self.attributes:
            return self.attributes[dotted]
        value: Any = self.program._script[0]
        for part in path:
            value = getattr(value, part)
        return self.held(value, dotted, path)

    def held(self, value: Any, dotted: str, path: AttributePath) -> Any:
        if isinstance(value, Tensor):
            name = dotted if dotted in self.program.names else self.program.held.get(_place(value))
            return value.detach() if name is None else self.program.get_buffer(name)
        if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
            return [self.held(item, "", path) for item in value]
        return (
            path
            if isinstance(value, torch.jit.ScriptModule | torch.ScriptObject)
            or hasattr(value, "_c")
            else value
        )

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        dotted = ".".join((*owner, name))
        if isinstance(value, Tensor) and dotted in self.program.names:
            buffer = self.program.get_buffer(dotted)
            if buffer.shape != value.shape or buffer.dtype != value.dtype:
                raise SourceError(
                    f"{dotted} is {buffer.dtype}{list(buffer.shape)} at first and"
                    f" {value.dtype}{list(value.shape)} after a run; a state keeps its type"
                )
            buffer.copy_(value)
        self.attributes[dotted] = value

    def branch(self, node: Any, condition: Any, values: dict[str, Any]) -> Sequence[Any]:
        then, otherwise = node.blocks()
        if not isinstance(condition, Tensor):
            return self.block(then if condition else otherwise, values)
        for block, other in ((then, otherwise), (otherwise, then)):
            if any(item.kind() == "prim::RaiseException" for item in block.nodes()):
                return self.block(other, values)
        if not list(node.outputs()):
            raise SourceError(
                "a branch that depends on data changes what lies outside of it; give out what it"
                " computes"
            )
        around = _Around(self, node, values)

        def run(block: Any) -> Callable[..., tuple[Any, ...]]:
            return lambda *given: tuple(_apart(item) for item in around.block(block, given, {}))

        return list(
            torch.ops.higher_order.cond(
                condition.reshape(()), run(then), run(otherwise), tuple(around.tensors)
            )
        )

    def loop(self, node: Any, given: Sequence[Any], values: dict[str, Any]) -> Sequence[Any]:
        limit, going, *states = given
        (block,) = node.blocks()
        number, *names = [item.debugName() for item in block.inputs()]
        if isinstance(going, Tensor) or isinstance(limit, Tensor):
            return self.repeated(node, block, given, values)
        step = 0
        while going and step < limit:
            if step >= MOST_STEPS:
                raise SourceError(
                    f"a loop takes more than {MOST_STEPS} steps, which are written out one after"
                    " another; make its number of steps depend on data or a size"
                )
            results = self.block(
                block, {**values, number: step, **dict(zip(names, states, strict=True))}
            )
            going, *states = results
            step += 1
            if isinstance(going, Tensor):
                return self.repeated(node, block, (limit, going, *states), values, step)
        return states

    def repeated(
        self, node: Any, block: Any, given: Sequence[Any], values: dict[str, Any], done: int = 0
    ) -> Sequence[Any]:
        """A loop with a data-dependent end. Its states are tensors."""
        limit, going, *states = given
        number, *names = [item.debugName() for item in block.inputs()]
        tensors = [
            item if isinstance(item, Tensor) else torch.scalar_tensor(item, dtype=_dtype_of(item))
            for item in states
        ]
        whole = [isinstance(item, Tensor) for item in states]
        if not all(whole):
            raise SourceError(
                "a loop whose end depends on data counts with numbers of Python; count with tensors"
            )
        start = torch.full((), done, dtype=torch.int64)
        first = going if isinstance(going, Tensor) else torch.full((), bool(going))
        around, count = _Around(self, node, values), len(states)

        def holds(going: Tensor, step: Tensor, *rest: Tensor) -> Tensor:
            return torch.logical_and(going.reshape(()), step < limit)

        def body(going: Tensor, step: Tensor, *rest: Tensor) -> tuple[Any, ...]:
            following, *results = around.block(
                block, rest[count:], {number: step, **dict(zip(names, rest[:count], strict=True))}
            )
            following = (
                following if isinstance(following, Tensor) else torch.full((), bool(following))
            )
            return (following.reshape(()).clone(), step + 1, *(_apart(item) for item in results))

        carried = (first.reshape(()).clone(), start, *(item.clone() for item in tensors))
        return list(
            torch.ops.higher_order.while_loop(holds, body, carried, tuple(around.tensors))[2:]
        )

    def applied(self, node: Any, kind: str, given: list[Any]) -> Any:
        if kind in OF_PRIM and not (kind == "aten::dim" and not isinstance(given[0], Tensor)):
            return OF_PRIM[kind](*given)
        space, _, name = kind.partition("::")
        numbers = not any(
            isinstance(item, Tensor)
            or (isinstance(item, list | tuple) and any(isinstance(part, Tensor) for part in item))
            for item in given
        )
        if (
            space == "aten"
            and name in OF_PYTHON
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
            and not (name in ("len", "__getitem__") and isinstance(given[0], Tensor))
        ):
            return OF_PYTHON[name](*given)
        if name in (
            "Bool",
            "Int",
            "Float",
            "ScalarImplicit",
            "IntImplicit",
            "FloatImplicit",
        ) and isinstance(given[0], Tensor):
            return given[0].to(torch.bool).reshape(()) if name == "Bool" else given[0].item()
        if name in ("__is__", "__isnot__"):
            return (given[0] is given[1]) == (name == "__is__")
        if name == "size":
            return list(given[0].shape) if len(given) == 1 else given[0].shape[given[1]]
        if name == "len":
            return given[0].shape[0]
        if name == "format":
            return given[0]
        return self.operator(node, space, name, given)

    def operator(self, node: Any, space: str, name: str, given: list[Any]) -> Any:
        packet = getattr(getattr(torch.ops, space), name, None)
        schema = node.schema()
        if packet is None or schema == "(no schema)":
            raise SourceError(
                f"{space}::{name} is no operator of this version of torch; save the model again"
            )
        if name in ("floor_divide", "floor_divide_") and not self.program.dated:
            raise SourceError(
                "divides tensors with //, which rounded towards zero before torch 1.13 and rounds"
                " down since, and the file does not say which; write torch.div(a, b,"
                " rounding_mode='trunc') or 'floor', or save it again with torch 2.1 or newer to"
                " round down"
            )
        parsed = torch._C.parse_schema(schema)
        overload = getattr(packet, parsed.overload_name or "default")
        args, named = [], {}
        for argument, value in zip(overload._schema.arguments, given, strict=False):
            if (
                isinstance(value, int)
                and not isinstance(value, bool)
                and "ScalarType" in str(argument.real_type)
            ):
                value = DTYPES[value]  # noqa: PLW2901 - TorchScript's number for a dtype
            elif isinstance(value, int) and argument.name in WORDS and not isinstance(value, bool):
                value = WORDS[argument.name][value]  # noqa: PLW2901 - of a layout, too
            if str(argument.real_type) == "Tensor" and isinstance(value, NUMBERS):
                value = torch.scalar_tensor(value, dtype=_dtype_of(value))  # noqa: PLW2901 - a size, which a trace keeps as a tensor
            if (
                isinstance(value, Tensor)
                and argument.alias_info is not None
                and argument.alias_info.is_write
            ):
                if any(value is item for item in self.constants):
                    raise SourceError(
                        f"{name} changes a constant in place; make it a buffer:"
                        " self.register_buffer"
                    )
                self.program.check_changed(value)
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                args.append(value)
        return overload(*args, **named)


def _apart(item: Any) -> Any:
    return (
        item.clone()
        if isinstance(item, Tensor)
        else torch.scalar_tensor(item, dtype=_dtype_of(item))
    )


class _Around:
    """The tensors that the blocks of a node read, including attributes of the program."""

    def __init__(self, run: _Run, node: Any, values: Mapping[str, Any]) -> None:
        self.run, self.values = run, values
        read: dict[str, None] = {}
        attributes: dict[str, None] = {}
        for block in node.blocks():
            _look(block, read, attributes)
        self.names = [name for name in read if isinstance(values.get(name), Tensor)]
        held = {
            name: run.attribute(tuple(name.split(".")[:-1]), name.rpartition(".")[2])
            for name in attributes
        }
        self.attributes = {name: value for name, value in held.items() if isinstance(value, Tensor)}
        self.tensors = [*(values[name] for name in self.names), *self.attributes.values()]

    def block(self, block: Any, given: Sequence[Any], own: Mapping[str, Any]) -> list[Any]:
        """The results of a block that reads these tensors."""
        run, before = self.run, self.run.attributes
        count = len(self.names)
        inside = {**before, **dict(zip(self.attributes, given[count:], strict=True))}
        run.attributes = dict(inside)
        try:
            results = run.block(
                block, {**self.values, **dict(zip(self.names, given[:count], strict=True)), **own}
            )
            if any(run.attributes.get(name) is not value for name, value in inside.items()):
                raise SourceError(
                    "a branch or loop that depends on data sets an attribute; give out what it"
                    " computes, and set it outside"
                )
        finally:
            run.attributes = before
        return results


def _look(block: Any, read: dict[str, None], attributes: dict[str, None]) -> None:
    for node in block.nodes():
        if node.kind() == "prim::GetAttr":
            attributes.setdefault(".".join(_path(next(iter(node.outputs())))))
        for value in node.inputs():
            read.setdefault(value.debugName())
        for inner in node.blocks():
            _look(inner, read, attributes)
    for value in block.outputs():
        read.setdefault(value.debugName())

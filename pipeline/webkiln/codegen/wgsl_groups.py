"""Compute shaders of workgroups that compute several nests. Each nest is a function of the number
of an invocation, or of a tile that the workgroup computes together. Barriers separate nests of
which one uses what the other writes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from webkiln.codegen.dialect import Combine
from webkiln.codegen.emit import body
from webkiln.codegen.templates import Templates
from webkiln.codegen.wgsl import Wgsl, legalised, operand_names
from webkiln.codegen.wgsl_memory import FOURS, WORDS, memories
from webkiln.codegen.wgsl_workgroups import Workgroup, workgroup_arrays
from webkiln.ir import dim
from webkiln.ir.dim import Atom, Dim, Size, from_atom
from webkiln.nest.nest import Accumulator
from webkiln.nest.schedule import InvocationSchedule
from webkiln.plan.group_kernel import GroupKernel, Member, MemberRepeat, MemberStep, Place
from webkiln.plan.own_elements import keeps_elements

FUNCTIONS = {"floordiv": "wk_floordiv", "max": "max", "min": "min"}


@dataclass(frozen=True, slots=True)
class Function:
    """A nest as a function."""

    name: str
    parameters: list[str]
    lines: list[str]


class Sharing(Workgroup):
    """A workgroup of `size` invocations that share the sums of the nest called `name`. Every
    invocation adds all parts: a tree would need a barrier for each of its levels.
    """

    def __init__(self, size: int, name: str) -> None:
        self.size, self.parts = size, f"{name}_"

    def gather(self, item: Accumulator, name: str, combine: Combine) -> list[str]:
        parts, lanes = f"{self.parts}{name}", range(4)
        steps = [combine(item, f"{name}_{n}", f"{parts}[part + {n}]") for n in lanes]
        folds = [combine(item, f"{name}_{a}", f"{name}_{b}") for a, b in ((0, 1), (2, 3), (0, 2))]
        return [
            f"{parts}[local] = {name};",
            self.barrier,
            *(f"var {name}_{n} = {parts}[{n}];" for n in lanes),
            f"for (var part = 4; part < {self.size}; part += 4) {{",
            *(f"  {line}" for lines in steps for line in lines),
            "}",
            *(line for lines in folds for line in lines),
            f"{name} = {name}_0;",
        ]


class Members(Wgsl):
    """The dialect of functions that are only called for tiles that exist."""

    def exit_if(self, condition: str) -> list[str]:
        return []


def print_group(kernel: GroupKernel, templates: Templates) -> str:
    """One compute shader. Its argument block contains the operands' offsets, then the arguments."""
    shader = _Shader(kernel)
    main = shader.main()
    arrays = {f"shared{n}": f"u32, {size}" for n, size in enumerate(kernel.shared)}
    lines = [line for function in shader.functions for line in function.lines]
    return templates.render(
        "group.wgsl",
        parts={**arrays, **shader.parts},
        arguments=[*(f"o{n}" for n, _ in enumerate(kernel.operands)), *kernel.arguments],
        functions=shader.functions,
        size=kernel.size,
        copies=0,
        main=main,
        memories=memories(shader.memory, shader.segments),
        lines=[*lines, *main],
    )


class _Block:
    """The statements of one block, and the names of the sizes that it and its parents declare."""

    def __init__(self, parent: "_Block | None" = None) -> None:
        self.lines: list[str] = []
        self.names: dict[Size, str] = dict(parent.names) if parent else {}
        self.numbers: Iterator[int] = parent.numbers if parent else count()

    def value(self, size: Size) -> str:
        """A size as an integer or a name. Each operation is computed once."""
        if not isinstance(size, Dim):
            return str(size)
        if size not in self.names:
            text = " ".join(
                f"{'-' if factor < 0 else '+'} {self._term(monomial, abs(factor))}"
                for monomial, factor in size.terms
            )
            text = text.removeprefix("+ ")
            if text.isidentifier():
                return text
            self.names[size] = f"size{next(self.numbers)}"
            self.lines.append(f"let {self.names[size]} = {text};")
        return self.names[size]

    def _term(self, monomial: Sequence[Atom], factor: int) -> str:
        parts = list(map(self._atom, monomial))
        return " * ".join([str(factor), *parts] if factor != 1 or not parts else parts)

    def _atom(self, atom: Atom) -> str:
        if atom.op == "name":
            return str(atom.args[0])
        size = from_atom(atom)
        if size not in self.names:
            text = f"{FUNCTIONS[atom.op]}({', '.join(map(self.value, atom.args))})"
            self.names[size] = f"size{next(self.numbers)}"
            self.lines.append(f"let {self.names[size]} = {text};")
        return self.names[size]


class _Shader:
    """Prints the members of a kernel, and collects their functions and arrays. `functions` and
    `parts` are complete once all steps are printed.
    """

    def __init__(self, kernel: GroupKernel) -> None:
        self.kernel = kernel
        self.memory = FOURS if kernel.aligned else WORDS
        self.segments = {f"o{n}": binding for n, binding in enumerate(kernel.segments)}
        self.barrier = _barrier(kernel)
        self.functions: list[Function] = []
        self.parts: dict[str, str] = {}
        self.numbers = count()

    def main(self) -> list[str]:
        block = _Block()
        end = block.value(self.kernel.count)
        block.lines.append(f"if (i0 >= {end}) {{ return; }}")
        self._steps(self.kernel.steps, block)
        return block.lines

    def _steps(self, steps: Sequence[MemberStep], block: _Block) -> None:
        """The statements of steps, with barriers where one uses what another writes."""
        since: list[Member] = []
        for step in steps:
            if isinstance(step, MemberRepeat):
                block.lines += self.barrier if since else []
                since = []
                self._repeat(step, block)
                continue
            if any(_clash(earlier, step) for earlier in since):
                block.lines += self.barrier
                since = []
            since.append(step)
            self._member(step, block)

    def _repeat(self, step: MemberRepeat, block: _Block) -> None:
        end, inner = block.value(step.count), _Block(block)
        self._steps(step.steps, inner)
        block.lines += [
            f"for (var {step.counter} = 0; {step.counter} < {end}; {step.counter}++) {{",
            *_indented([*inner.lines, *self.barrier]),
            "}",
        ]

    def _member(self, member: Member, block: _Block) -> None:
        kernel, name = member.kernel, f"nest{next(self.numbers)}"
        workgroup = kernel.workgroup
        groups = Sharing(self.kernel.size, f"{name}_parts")
        self.parts |= workgroup_arrays(kernel, groups)
        pairs = list(zip(operand_names(kernel), member.places, strict=True))
        blocks = {own: f"shared{place.number}" for own, place in pairs if place.shared}
        offsets = {own: f"o{place.number}" for own, place in pairs if not place.shared}
        numbers = ("workgroup", "local") if workgroup else ("invocation",)
        bindings = {own: self.segments.get(offset, 0) for own, offset in offsets.items()}
        lines = body(legalised(kernel), Members(self.memory, groups, blocks, bindings))
        parameters = [f"{item}: i32" for item in (*numbers, *offsets, *kernel.arguments)]
        self.functions.append(Function(name, parameters, lines))
        rest = ", ".join([*offsets.values(), *map(block.value, member.values)])
        tiles = block.value(_tiles(member))
        if workgroup is None:
            header = f"var place = local; place < {tiles}; place += {self.kernel.size}"
            block.lines.append(f"for ({header}) {{ {name}(place, {rest}); }}")
            return
        if tiles == "1":
            block.lines.append(f"{name}(0, local, {rest});")
            return
        header = f"var tile = 0; tile < {tiles}; tile++"
        call = f"{name}(tile, local, {rest});"
        block.lines += [f"for ({header}) {{", *_indented([call, *self.barrier]), "}"]


def _barrier(kernel: GroupKernel) -> list[str]:
    """What separates members that use each other's results."""
    shares = any(member.kernel.workgroup is not None for member in kernel.members)
    both = [_places(member) for member in kernel.members]
    read, written = (set().union(*(pair[n] for pair in both)) for n in (0, 1))
    stores = any(not place.shared for place in written & read)
    lines = ["workgroupBarrier();"] if kernel.shared or shares else []
    return [*lines, "storageBarrier();"] if stores or not lines else lines


def _tiles(member: Member) -> Size:
    """The number of tiles of a nest."""
    kernel = member.kernel
    assert isinstance(kernel.schedule, InvocationSchedule)
    values = dict(zip(kernel.arguments, member.values, strict=True))
    total: Size = 1
    for loop in kernel.nest.axes:
        span = kernel.schedule.span(loop.axis)
        total = total * dim.floordiv(values[loop.extent.value] + (span - 1), span)
    return total


def _clash(first: Member, second: Member) -> bool:
    """Whether a member uses what an earlier one writes, or the reverse, in another invocation."""
    (read, written), (reads, writes) = _places(first), _places(second)
    shared = written & (reads | writes) | read & writes
    return not all(keeps_elements(first, second, place) for place in shared)


def _places(member: Member) -> tuple[set[Place], set[Place]]:
    """What a member reads, and what it writes."""
    inputs = len(member.kernel.nest.inputs)
    return set(member.places[:inputs]), set(member.places[inputs:])


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)

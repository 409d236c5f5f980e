"""Print a kernel template with the loops around it, in C.

The text of a template receives `name` and `parameters` of the kernel; `functions`, the loops around
it, with their calls `prepare_rows`, `prepare_zero` and `store`; `operand`, the panels; `rows` and
`columns`, the types of the factors; `extents` of the sum and of the columns; `part`, the rows of a
thread; whether results depend on `totals`; and the `block`, `depth` and `panel` of its declaration.
The loops around it fill `rows`, an array [block, WIDTH], and `zero`, an int32 [1]. The
text fills `sums`, int32 [block], and `totals`, int32 [rows], from which they compute results.
"""

from dataclasses import dataclass

from webkiln.codegen.c_functions import arrays_outside, parameters
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.emit import body
from webkiln.codegen.templates import Templates
from webkiln.errors import InternalError
from webkiln.nest.compose import compose
from webkiln.nest.kernel_template import find_template
from webkiln.nest.nest import Loop, Nest
from webkiln.nest.schedule import LoopSchedule, TemplateSchedule
from webkiln.plan.kernel import Kernel
from webkiln.plan.template_steps import Around, match_step

BLOCKS = {"rows": "WIDTH", "sums": "COLUMNS", "totals": "1", "zero": "1"}
"""The arrays of a template, and the length of their rows: rows of the operand, sums of products,
sums of rows, and the zero point of the rows.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """A static function beside the template, and a call of it."""

    name: str
    parameters: list[str]
    lines: list[str]
    call: str


class TemplateKernel:
    """Prints the C file of a kernel with a template. `types`: dtype -> type in memory."""

    def __init__(self, kernel: Kernel, dialect: Dialect, types: dict[str, str]) -> None:
        assert isinstance(kernel.schedule, TemplateSchedule)
        self.template = find_template(kernel.schedule.template)
        product = match_step(kernel.nest, self.template.step)
        if product is None:
            raise InternalError(f"{kernel.name}: its nest is not what the template computes")
        self.kernel, self.schedule, self.product = kernel, kernel.schedule, product
        self.dialect, self.types = dialect, types
        self.around = Around(kernel.nest, product, self.template.block[1])
        self.outside: dict[str, tuple[str, str, int]] = {}

    def print(self, templates: Templates) -> str:
        names = ("rows", "zero")
        rows, zero = (
            self.function(f"prepare_{name}", nest, schedule, (), (name,))
            for nest, schedule, name in zip(
                self.around.prepare(), self.schedule.prepare, names, strict=True
            )
        )
        outputs = tuple(f"y{n}" for n in range(len(self.kernel.nest.outputs)))
        extra = ("sums", "totals") if self.around.needs_totals else ("sums",)
        store = self.function("store", self.around.store(), self.schedule.store, extra, outputs)
        functions, inputs = [rows, zero, store], self.kernel.nest.inputs
        text = f"{self.template.name}.c"
        return templates.render(
            text,
            name=self.kernel.name,
            parameters=parameters(self.kernel, self.types),
            functions=functions,
            prepare_rows=rows.call,
            prepare_zero=zero.call,
            store=store.call,
            totals=self.around.needs_totals,
            rows=self.types[inputs[self.product.rows.source].dtype],
            columns=self.types[inputs[self.product.columns.source].dtype],
            operand=f"x{self.product.columns.source}",
            extents={
                "depth": " * ".join(map(self.text, self.product.depth)),
                "column": self.text(self.product.column),
            },
            block=self.template.block,
            depth=self.template.depth,
            panel=self.template.panel,
            part=self.kernel.part,
            outside=self.outside,
            lines=[*(line for item in functions for line in item.lines), templates.text(text)],
        )

    def text(self, loop: Loop) -> str:
        """An extent, which is an argument or a constant."""
        return str(loop.extent.value)

    def function(
        self,
        name: str,
        nest: Nest,
        schedule: LoopSchedule,
        extra: tuple[str, ...],
        outputs: tuple[str, ...],
    ) -> Function:
        """The loops of a nest as a function. `extra`: the blocks that it reads after the inputs of
        the kernel. `outputs`: the blocks, or outputs of the kernel, that it writes.
        """
        loops = Kernel(compose(nest, self.dialect.composed), schedule)
        count = len(self.kernel.nest.inputs)
        self.outside |= arrays_outside(loops, self.dialect, self.types)
        passed = [*(f"x{n}" for n in range(count)), *map(_pointer, (*extra, *outputs))]
        block = self.around.block
        values = {
            block.row: "row",
            block.column: "column",
            block.rows: "count",
            block.columns: "width",
        }
        arguments = [
            values.get(item) or self.argument(item, (*extra, *outputs)) for item in loops.arguments
        ]
        return Function(
            name,
            parameters(loops, self.types),
            body(loops, self.dialect),
            f"{name}({', '.join([*passed, *arguments])});",
        )

    def argument(self, name: str, operands: tuple[str, ...]) -> str:
        """An argument of the loops around the template. The stride of a block is constant; operands
        of the kernel have its strides, except that its columns are not read.
        """
        if not name.startswith("s"):
            return name
        position, dim = map(int, name[1:].split("_"))
        inputs = len(self.kernel.nest.inputs)
        if position >= inputs:
            operand = operands[position - inputs]
            if operand in BLOCKS:
                return BLOCKS[operand]
            name = f"s{inputs + int(operand[1:])}_{dim}"
        return name if name in self.kernel.arguments else "0"


def _pointer(name: str) -> str:
    """A block as a pointer to its first element."""
    return f"{name}[0]" if name in ("rows", "sums") else name

"""Print a kernel template with the loops around it.

The text of a template, `kernels/<template>.<language>.jinja`, receives `name` of the kernel;
`functions`, the loops around it, of which `prepare_rows`, `prepare_zero` and `store` are also given
by name, with the `call` of each and the `span` of elements that an invocation computes; `operand`,
the panels, and `input`, the rows; `rows` and `columns`, the dtypes of the factors; `extents` of the
rows, the innermost loop of the rows, the sum and the columns; whether results depend on `totals`;
the `block`, `depth` and `panel` of its declaration; and what its language adds. The loops around it
read the variables `row`, `column`, `count` and `width`, which bound a block, and `group` and
`groups`, which bound a part of the sum if rows are packed. They fill the blocks `rows` and `zero`,
an int32 [1]. For a depthwise convolution, `rows` are places in `input`. The text fills `sums`,
int32 [block], and `totals`, int32 [rows], from which they compute results.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webkiln.codegen.templates import Templates
from webkiln.errors import InternalError
from webkiln.nest.kernel_template import find_template
from webkiln.nest.nest import Loop, Nest
from webkiln.nest.schedule import Schedule, TemplateSchedule
from webkiln.plan.block_steps import BLOCK_PRODUCT, AroundBlocks, BlockProduct, match_blocks
from webkiln.plan.kernel import Kernel
from webkiln.plan.template_blocks import (
    Block,
)
from webkiln.plan.template_steps import (
    MOST_RUNS,
    Around,
    Product,
    match_step,
)
from webkiln.plan.vector_products import VECTOR_PRODUCT, match_vectors


@dataclass(frozen=True, slots=True)
class Function:
    """A function beside the template, and a call of it."""

    name: str
    parameters: list[str]
    lines: list[str]
    call: str
    span: int


class TemplateLanguage(Protocol):
    """How a language prints templates. `blocks`: the arrays that a template shares with the loops
    around it, and the distance between their rows. `mentioned`: code with the names of helpers that
    its texts need in addition to those in them.
    """

    @property
    def extension(self) -> str: ...
    @property
    def blocks(self) -> Mapping[str, str]: ...
    @property
    def mentioned(self) -> Sequence[str]: ...
    def prepare(self, around: Around, schedule: TemplateSchedule) -> tuple[Nest, Nest]:
        """The loops that prepare a block of rows, and the zero point of the rows."""

    def loops(self, nest: Nest, schedule: Schedule) -> Kernel: ...
    def function(
        self, name: str, loops: Kernel, operands: Sequence[str], arguments: Sequence[str]
    ) -> Function:
        """The loops as a function, and a call. `operands`: the block, or operand of the kernel,
        that each of its operands is.
        """

    def variables(self, kernel: Kernel, dtypes: Mapping[str, str]) -> dict[str, Any]:
        """What the text receives in addition. `dtypes` of the factors."""


def print_template(kernel: Kernel, language: TemplateLanguage, templates: Templates) -> str:
    """The source of a kernel with a template. Raises InternalError if its nest is not what the
    template computes.
    """
    assert isinstance(kernel.schedule, TemplateSchedule)
    step = find_template(kernel.schedule.template).step
    if step == BLOCK_PRODUCT:
        if (blocks := match_blocks(kernel.nest)) is not None:
            return BlockKernel(kernel, language, blocks).print(templates)
    elif step == VECTOR_PRODUCT:
        if (vectors := match_vectors(kernel.nest)) is not None:
            return BlockKernel(kernel, language, vectors).print(templates)
    elif (product := match_step(kernel.nest, step)) is not None:
        return ProductKernel(kernel, language, product).print(templates)
    raise InternalError(f"{kernel.name}: its nest is not what a template computes")


class TemplateKernel(ABC):
    """What the kernels with a template have in common. `block`: the arguments of its blocks.
    `values_of`: what the text passes for arguments of the loops around the template.
    """

    def __init__(self, kernel: Kernel, language: TemplateLanguage, block: Block) -> None:
        assert isinstance(kernel.schedule, TemplateSchedule)
        self.kernel, self.schedule, self.language = kernel, kernel.schedule, language
        self.template = find_template(self.schedule.template)
        self.values_of = {
            block.row: "row",
            block.column: "column",
            block.rows: "count",
            block.columns: "width",
            block.group: "group",
            block.groups: "groups",
        }

    @abstractmethod
    def functions(self) -> dict[str, Function]:
        """The loops around the template, by name."""

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """What the text receives for its step."""

    def print(self, templates: Templates) -> str:
        functions, text = self.functions(), f"{self.template.name}.{self.language.extension}"
        lines = [line for item in functions.values() for line in item.lines]
        return templates.render(
            text,
            name=self.kernel.name,
            functions=list(functions.values()),
            **functions,
            block=self.template.block,
            depth=self.template.depth[1],
            panel=self.template.panel,
            **self.values(),
            lines=[*lines, *self.language.mentioned, templates.text(text)],
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"y{n}" for n in range(len(self.kernel.nest.outputs)))

    def function(
        self,
        name: str,
        nest: Nest,
        schedule: Schedule,
        extra: tuple[str, ...],
        outputs: tuple[str, ...],
    ) -> Function:
        """The loops of a nest as a function. `extra`: the blocks that it reads after the inputs of
        the kernel. `outputs`: the blocks, or outputs of the kernel, that it writes.
        """
        loops = self.language.loops(nest, schedule)
        inputs = (f"x{n}" for n in range(len(self.kernel.nest.inputs)))
        blocks = (*extra, *outputs)
        arguments = [
            self.values_of.get(item) or self.argument(item, blocks) for item in loops.arguments
        ]
        return self.language.function(name, loops, (*inputs, *blocks), arguments)

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
            if operand in self.language.blocks:
                return self.language.blocks[operand]
            name = f"s{inputs + int(operand[1:])}_{dim}"
        return name if name in self.kernel.arguments else "0"


class ProductKernel(TemplateKernel):
    """The kernel of a product of 8-bit integers."""

    def __init__(self, kernel: Kernel, language: TemplateLanguage, product: Product) -> None:
        assert isinstance(kernel.schedule, TemplateSchedule)
        self.product, self.around = product, Around(kernel.nest, product)
        super().__init__(kernel, language, self.around.block)
        self.values_of |= {
            name: f"s{product.rows.source}_{dim}" for dim, name in enumerate(self.around.strides)
        }

    def functions(self) -> dict[str, Function]:
        nests = self.language.prepare(self.around, self.schedule)
        rows, zero = (
            self.function(f"prepare_{name}", nest, schedule, (), (name,))
            for nest, schedule, name in zip(
                nests, self.schedule.prepare, ("rows", "zero"), strict=True
            )
        )
        extra = ("sums", "totals") if self.around.needs_totals else ("sums",)
        store = self.function(
            "store", self.around.store(), self.schedule.store, extra, self.outputs
        )
        return {item.name: item for item in (rows, zero, store)}

    def values(self) -> dict[str, Any]:
        product = self.product
        dtypes = {"rows": product.rows.dtype, "columns": product.columns.dtype}
        return {
            "totals": self.around.needs_totals,
            "places": MOST_RUNS,
            **dtypes,
            "operand": f"x{product.columns.source}",
            "input": f"x{product.rows.source}",
            "extents": {
                "row": _product(product.row),
                "line": _product(product.row[-1:]),
                "run": None if product.run is None else _product((product.run,)),
                "depth": _product(product.depth),
                "column": _product((product.column,)),
            },
            **self.language.variables(self.kernel, dtypes),
        }


class BlockKernel(TemplateKernel):
    """The kernel of a product of blocks. The text receives the `operands` by name, the `bits` of a
    code and their `center`; whether codes are `signed`, and parameters those of columns
    (`by_column`); whether the codes with one scale, or the float16 weights of a column, are `whole`
    groups of 16 bytes; and the `extents` of the rows, the columns, the blocks and the bytes of a
    block. Float rows begin at the `places` that `prepare_rows` stores, int32 [rows]. Weights that
    are floats of `bits` have no factors, and one block, whose bytes are those floats.
    """

    def __init__(self, kernel: Kernel, language: TemplateLanguage, step: BlockProduct) -> None:
        self.step, self.around = step, AroundBlocks(kernel.nest, step)
        super().__init__(kernel, language, self.around.block)
        self.values_of |= {
            name: f"s{step.rows}_{dim}" for dim, name in enumerate(self.around.strides)
        }

    def functions(self) -> dict[str, Function]:
        nest, schedule = self.around.store(), self.schedule.store
        functions = [self.function("store", nest, schedule, ("sums",), self.outputs)]
        for places in self.schedule.prepare:
            nest = self.around.places()
            functions.append(self.function("prepare_rows", nest, places, (), ("places",)))
        return {item.name: item for item in functions}

    def values(self) -> dict[str, Any]:
        step, weights = self.step, self.step.weights
        positions = {"rows": step.rows, "scales": step.scales, "offsets": weights.offsets}
        positions |= {"packed": weights.packed, "factors": weights.factors}
        return {
            "operands": {
                name: None if position is None else f"x{position}"
                for name, position in positions.items()
            },
            "bits": weights.bits,
            "signed": self.kernel.nest.inputs[weights.packed].dtype == "int8",
            "center": weights.center,
            "by_column": weights.by_column,
            "whole": self.schedule.whole,
            "extents": {
                "row": _product(step.row) or "1",
                "blocks": "1" if step.block is None else _product((step.block,)),
                "bytes": _product((step.byte,)),
                "column": _product((step.column,)),
            },
            **self.language.variables(self.kernel, {}),
        }


def _product(loops: Sequence[Loop]) -> str:
    """The number of iterations of nested loops, whose extents are arguments or constants."""
    return " * ".join(str(loop.extent.value) for loop in loops)

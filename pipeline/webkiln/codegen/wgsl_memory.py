"""Views of the arena in a shader. A kernel uses the one whose elements match what it reads and
writes.

A store must write a full element: a partial store could lose neighbours. Templates have
placeholders for an offset, counted in the elements of an operand, and for a value.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields

from webkiln.codegen.segment_names import in_segment
from webkiln.nest.schedule import has_aligned_vectors
from webkiln.plan.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Memory:
    """`element`: the element type of the arena. `word` reads a word, and `four`, `float16` and
    `int8` read vectors of four words, float16 and int8; the others write them.
    """

    element: str
    word: str
    store: str = ""
    four: str = ""
    store_four: str = ""
    float16: str = ""
    int8: str = ""
    store_float16: str = ""
    store_half: str = ""
    store_byte: str = ""

    def segment(self, binding: int) -> "Memory":
        """The same view of a segment, 0: of the arena."""
        texts = {item.name: getattr(self, item.name) for item in fields(self)}
        element = texts.pop("element")
        return Memory(element, **{name: in_segment(text, binding) for name, text in texts.items()})


def memories(arena: Memory, segments: Mapping[str, int]) -> list[Memory]:
    """The views of the arena and of the segments of a kernel, by binding."""
    return [arena.segment(n) for n in range(max(segments.values(), default=0) + 1)]


WORDS = Memory(
    "u32",
    "arena[{0}]",
    "arena[{0}] = {1};",
    four="wk_four({0})",
    store_four="wk_store_four({0}, {1});",
    float16="wk_load_float16({0})",
    int8="wk_load_int8({0})",
)
FOURS = Memory(
    "vec4u",
    "wk_lane({0})",
    four="arena[({0}) >> 2u]",
    store_four="arena[({0}) >> 2u] = {1};",
    int8="wk_unpack_int8(wk_lane(({0}) >> 2u))",
)
PAIRS = Memory(
    "vec2u",
    "arena[({0}) >> 1u][({0}) & 1]",
    four="wk_two_pairs({0})",
    store_four="wk_store_two_pairs({0}, {1});",
    float16="wk_unpack_float16(arena[({0}) >> 2u])",
    int8="wk_unpack_int8(arena[({0}) >> 3u][(({0}) >> 2u) & 1])",
    store_float16="arena[({0}) >> 2u] = wk_pack_float16({1});",
)
SHARED = Memory(
    "atomic<u32>",
    "atomicLoad(&arena[{0}])",
    "atomicStore(&arena[{0}], {1});",
    store_half="wk_store_half({0}, {1});",
    store_byte="wk_store_byte({0}, u32({1}));",
)
"""Words of which several invocations write parts."""
SHARED_BY = ("float16", "int8", "uint8")
"""The dtypes of which several elements lie in a word, where these can be stored one by one."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the operands of a kernel lie: in workgroup memory if `blocks` names them, in arrays of
    words; in a segment if `segments` has their binding; or else in the arena.
    """

    arena: Memory
    blocks: Mapping[str, str]
    segments: Mapping[str, int] = field(default_factory=dict)

    def binding(self, pointer: str) -> int:
        return self.segments.get(pointer, 0)

    def find(self, pointer: str, at: str) -> tuple[Memory, str]:
        """The memory of an operand, and the address in it of the element `at`."""
        block = self.blocks.get(pointer)
        if block is None:
            return self.arena.segment(self.binding(pointer)), f"{pointer} + {at}"
        four = ", ".join(f"{block}[{{0}} + {lane}]" for lane in range(4))
        store_four = " ".join(f"{block}[{{0}} + {lane}] = words[{lane}];" for lane in range(4))
        memory = Memory(
            "u32",
            f"{block}[{{0}}]",
            f"{block}[{{0}}] = {{1}};",
            f"vec4u({four})",
            f"{{{{ let words = {{1}}; {store_four} }}}}",
        )
        return memory, at


def memory_of(kernel: Kernel, words: Collection[int] = ()) -> Memory:
    """The view for a kernel. If the schedule is aligned, all vectors are elements of the view.
    `words`: the inputs of which only words are read, whatever their elements.
    """
    operands = (item for n, item in enumerate(kernel.operands) if n not in words)
    float16 = any(operand.dtype == "float16" for operand in operands)
    is_shared = any(out.operand.dtype in SHARED_BY for out in kernel.nest.outputs)
    if has_aligned_vectors(kernel.schedule):
        return PAIRS if float16 else FOURS
    return SHARED if is_shared else WORDS

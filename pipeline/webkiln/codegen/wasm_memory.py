"""The layout of a WebAssembly module's memory outside its program."""

ZERO_STRIDE = 4096
"""How far a guarded load whose guard is false may walk over the shared zeros, in elements."""
ZEROS = ZERO_STRIDE + 16
"""The number of shared zeros. A vector may start at the last one that a load reaches."""
STACK = 65536
MAX_HELPERS = 7
"""The most threads in addition to the one that runs the program."""
HELPER_STACK = 65536
PAGE = 65536
RESERVED = 16 * PAGE
"""Bytes for stacks, zeros and tables. The program's memory follows."""
MAX_PAGES = 65536
"""The most pages of a memory."""


def pages(memory: int) -> int:
    """The pages of a module whose program needs `memory` bytes."""
    return -(-(RESERVED + memory) // PAGE)

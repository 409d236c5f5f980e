"""What lies in the memory of a WebAssembly module beside its program."""

WALKED = 4096
"""How far a guarded load whose guard is false may walk over the zeros that kernels share, in
elements.
"""
ZEROS = WALKED + 16
"""How many lie there: a vector may begin at the last of those."""
STACK = 65536
HELPERS = 7
"""Threads that help the one which runs the program, at most."""
HELPER_STACK = 16384
PAGE = 65536
FIXED = 16 * PAGE
"""Bytes for stacks, zeros and tables; the program's memory follows."""
MOST = 65536
"""Pages that a memory can have."""


def pages(memory: int) -> int:
    """Of a module whose program needs `memory` bytes."""
    return -(-(FIXED + memory) // PAGE)

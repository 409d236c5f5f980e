"""The zeros that the kernels of WebAssembly share: a guarded load reads them where its guard is false."""

WALKED = 4096
"""How far such a load may walk, in elements."""
LAID = WALKED + 16
"""How many lie there: a vector may begin at the last of those."""

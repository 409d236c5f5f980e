"""What engines compute by relaxed dot products whose second operand has 8 bits."""

from pathlib import Path

import pytest

from webkiln.backends import toolchain

SIMULATED = """#include <wasm_simd128.h>
static v128_t simulated_dot(v128_t a, v128_t b, v128_t sums) {
  signed char x[16], y[16];
  int total[4];
  wasm_v128_store(x, a), wasm_v128_store(y, b), wasm_v128_store(total, sums);
  for (int lane = 0; lane < 4; lane++) {
    for (int pair = 0; pair < 2; pair++) {
      int sum = 0;
      for (int k = 0; k < 2; k++) {
        const int at = 4 * lane + 2 * pair + k;
        sum += x[at] * (SECOND)y[at];
      }
      total[lane] += LIMIT(sum);
    }
  }
  return wasm_v128_load(total);
}
"""
SATURATE = "(s < -32768 ? -32768 : s > 32767 ? 32767 : s)"
ENGINES = {
    "unsigned": ("unsigned char", "(s)"),
    "signed": ("signed char", "(s)"),
    "saturating": ("unsigned char", SATURATE),
}
"""What engines compute when the second operand has 8 bits: its type, and the sum of a pair."""


def simulate(engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile kernels of the variant `relaxed` with the dot products of an engine."""
    header = folder / "simulated.h"
    header.write_text(SIMULATED)
    second, limit = ENGINES[engine]
    flags = (f"-DSECOND={second}", f"-DLIMIT(s)={limit}", "-DWK_DOT=simulated_dot")
    relaxed = (*toolchain.VARIANT_FLAGS["relaxed"], *flags, "-include", str(header))
    monkeypatch.setitem(toolchain.VARIANT_FLAGS, "relaxed", relaxed)

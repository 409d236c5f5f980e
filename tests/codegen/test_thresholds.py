"""Which launches a wasm program divides among threads, and which kernels it calls before the first
run: by default, and with other thresholds.
"""

from pathlib import Path

import pytest

from tests.backends.harness import FINEST_THRESHOLDS, TEMPLATES, write_program
from tests.programs import program, write_code
from webkiln.backends.table import REGISTRY
from webkiln.backends.wasm.printer import Thresholds
from webkiln.ops.table import parse


def square(size: int, tmp_path: Path, thresholds: Thresholds | None) -> str:
    """The code that calls the kernels of one product. `thresholds` None: the default."""
    graph = parse(f"""graph g
input x: float32[{size},{size}]
slot w: float32[{size},{size}]
y: float32[{size},{size}] = MatMul(x, w)
output out = y
""")
    document = program(graph, REGISTRY["wasm"], "float32")
    write_code(
        document, TEMPLATES, tmp_path, **({} if thresholds is None else {"thresholds": thresholds})
    )
    return (tmp_path / "main.c").read_text()


@pytest.mark.parametrize(("size", "long"), [(64, False), (512, True)])
def test_only_long_runs_are_divided_and_warmed_up(size: int, long: bool, tmp_path: Path) -> None:
    main = square(size, tmp_path, None)
    assert ("wk_launch(" in main, 'export_name("warm")' in main) == (long, long)
    assert ("turn < 3000" in main) == long


def test_thresholds_are_applied(tmp_path: Path) -> None:
    main = square(8, tmp_path, FINEST_THRESHOLDS)
    assert "wk_launch(work, 0)" in main
    assert "turn < 1;" in main
    undivided = square(512, tmp_path / "undivided", Thresholds(shared=2**40))
    assert "wk_launch(" not in undivided
    assert 'export_name("warm")' in undivided


@pytest.mark.parametrize("backend", REGISTRY)
def test_programs_of_tests_are_written_for_every_backend(backend: str, tmp_path: Path) -> None:
    graph = parse("graph g\ninput x: float32[3]\ny: float32[3] = Relu(x)\noutput out = y\n")
    write_program(program(graph, REGISTRY[backend], "float32"), tmp_path)
    assert any(tmp_path.iterdir())

"""Hot updates: Vite's dev server while the model changes. One server serves all tests; each of them
restores the digits model.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.web import pages, project
from tests.web.models import NAME, PIXELS, wider

SCRIPT = ("dev", "--strictPort", "--host=127.0.0.1", "--port={port}")


@pytest.fixture
def other_project(tmp_path: Path) -> Path:
    """A project that no server serves yet."""
    project.need_packages()
    return project.copy_project(tmp_path, Path(__file__).parent / "projects" / "hot")


@pytest.fixture
def model() -> Any:
    import keras

    return keras.saving.load_model(project.MODEL)


def save(model: Any, project_root: Path) -> None:
    """Write the model to a temporary file and rename it, so that no server reads an incomplete
    file.
    """
    model.save(project_root / "new.keras")
    (project_root / "new.keras").rename(project_root / "src" / NAME)


def restore_digits(project_root: Path) -> None:
    shutil.copyfile(project.MODEL, project_root / "new.keras")
    (project_root / "new.keras").rename(project_root / "src" / NAME)


@pytest.fixture(scope="module")
def project_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the server."""
    project.need_packages()
    root = project.copy_project(
        tmp_path_factory.mktemp("hot"), Path(__file__).parent / "projects" / "hot"
    )
    restore_digits(root)
    return root


@pytest.fixture(scope="module")
def server(project_root: Path) -> Iterator[project.Dev]:
    with project.serving(project_root, SCRIPT, "/") as dev:
        yield dev


@pytest.fixture
def served(server: project.Dev, project_root: Path) -> Iterator[project.Dev]:
    """The server, and its page, which has just been opened."""
    pages.browser().get(server.url)
    yield server
    restore_digits(project_root)
    check_answers(pages.model(), server)
    pages.browser().get("about:blank")


def opened() -> str:
    return str(
        pages.browser().execute_script("return document.querySelector('output')?.dataset.opened")
    )


def answer() -> dict[str, Any]:
    text = pages.browser().execute_script("return document.querySelector('output')?.value")
    result: dict[str, Any] = json.loads(text) if text else {}
    return result


def check_answers(model: Any, dev: project.Dev) -> None:
    """The page soon shows what Keras computes."""
    expected = model({"image": PIXELS}, training=False).numpy()[0]

    def is_equal() -> bool:
        scores = answer().get("scores", [])
        return len(scores) == len(expected) and bool(np.allclose(scores, expected, atol=1e-5))

    if not pages.until(is_equal, 120):
        state = pages.browser().execute_script(
            "return JSON.stringify(document.querySelector('output')?.dataset ?? document.title)"
        )
        message = "\n".join([*pages.console(), dev.log.read_text("utf-8")[-3000:]])
        raise AssertionError(
            f"the page shows {answer()}, not {expected}; its state is {state}, its overlay"
            f" {overlay()!r}:\n{message}"
        )


def overlay() -> str:
    return str(
        pages.browser().execute_script(
            "return document.querySelector('vite-error-overlay')?.shadowRoot.textContent ?? ''"
        )
    )


def scaled(model: Any, factor: float) -> Any:
    model.set_weights([weight * factor for weight in model.get_weights()])
    return model


def test_new_weights_keep_the_page(served: project.Dev, project_root: Path, model: Any) -> None:
    check_answers(model, served)
    before = opened()
    for factor in (1.25, 0.5):
        save(scaled(model, factor), project_root)
        check_answers(model, served)
    assert opened() == before
    assert answer()["backend"] == "wasm"
    assert (
        pages.browser().execute_script(
            "return document.querySelector('output').dataset.failed ?? ''"
        )
        == ""
    )


def test_other_layers_between_the_same_inputs_and_outputs_keep_the_page(
    served: project.Dev, project_root: Path, model: Any
) -> None:
    check_answers(model, served)
    before = opened()
    other = wider(10, 3)
    save(other, project_root)
    check_answers(other, served)
    assert opened() == before


def test_other_outputs_reload_the_page(served: project.Dev, project_root: Path, model: Any) -> None:
    check_answers(model, served)
    before = opened()
    other = wider(12, 3)
    save(other, project_root)
    check_answers(other, served)
    assert opened() != before


def test_a_broken_model_is_reported_in_the_page_until_fixed(
    served: project.Dev, project_root: Path, model: Any
) -> None:
    check_answers(model, served)
    good = (project_root / "src" / NAME).read_bytes()
    (project_root / "src" / NAME).write_bytes(good[: len(good) // 2])
    message = pages.until(overlay, 60)
    assert NAME in message, message
    assert "webkiln" in message
    pages.browser().refresh()
    assert NAME in (pages.until(overlay, 60) or ""), (
        "a reloaded page shows the last good model and the error"
    )
    (project_root / "src" / NAME).write_bytes(good)
    assert pages.until(lambda: not overlay() and answer(), 60)
    check_answers(model, served)


def test_a_model_that_is_broken_at_first_is_reported(other_project: Path, model: Any) -> None:
    (other_project / "src" / NAME).write_bytes(b"not a model")
    with project.serving(other_project, SCRIPT, "/") as dev:
        pages.browser().get(dev.url)
        message = pages.until(overlay, 60)
        assert NAME in message, message
        save(scaled(model, 0.75), other_project)
        check_answers(model, dev)
        assert overlay() == ""
        pages.browser().get("about:blank")


def test_isolated_by_one_option(served: project.Dev, model: Any) -> None:
    check_answers(model, served)
    assert pages.browser().execute_script("return crossOriginIsolated") is True


def test_webpack_reloads_the_page(other_project: Path, model: Any) -> None:
    restore_digits(other_project)
    with project.serving(
        other_project, ("webpack", "--host=127.0.0.1", "--port={port}"), "/"
    ) as dev:
        pages.browser().get(dev.url)
        check_answers(model, dev)
        before = opened()
        save(scaled(model, 1.25), other_project)
        check_answers(model, dev)
        assert opened() != before
        pages.browser().get("about:blank")

"""Vite's server of development while the model changes under it. One server serves all tests, each
of which leaves it with the model of digits.
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
def elsewhere(tmp_path: Path) -> Path:
    """A project that no server serves yet."""
    project.need_packages()
    return project.lay(tmp_path, Path(__file__).parent / "projects" / "hot")


@pytest.fixture
def model() -> Any:
    import keras

    return keras.saving.load_model(project.MODEL)


def save(model: Any, place: Path) -> None:
    """Write the model beside its place first, so that it is never seen half."""
    model.save(place / "new.keras")
    (place / "new.keras").rename(place / "src" / NAME)


def lay_digits(place: Path) -> None:
    shutil.copyfile(project.MODEL, place / "new.keras")
    (place / "new.keras").rename(place / "src" / NAME)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the server."""
    project.need_packages()
    found = project.lay(tmp_path_factory.mktemp("hot"), Path(__file__).parent / "projects" / "hot")
    lay_digits(found)
    return found


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[project.Dev]:
    with project.serving(place, SCRIPT, "/") as dev:
        yield dev


@pytest.fixture
def served(server: project.Dev, place: Path) -> Iterator[project.Dev]:
    """The server, and a page of its that has just been opened."""
    pages.browser().get(server.url)
    yield server
    lay_digits(place)
    check_answers(pages.model(), server)
    pages.browser().get("about:blank")


def opened() -> str:
    return str(
        pages.browser().execute_script("return document.querySelector('output')?.dataset.opened")
    )


def answer() -> dict[str, Any]:
    text = pages.browser().execute_script("return document.querySelector('output')?.value")
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def check_answers(model: Any, dev: project.Dev) -> None:
    """The page soon shows what Keras computes."""
    wanted = model({"image": PIXELS}, training=False).numpy()[0]

    def same() -> bool:
        got = answer().get("scores", [])
        return len(got) == len(wanted) and bool(np.allclose(got, wanted, atol=1e-5))

    if not pages.until(same, 120):
        state = pages.browser().execute_script(
            "return JSON.stringify(document.querySelector('output')?.dataset ?? document.title)"
        )
        said = "\n".join([*pages.console(), dev.log.read_text("utf-8")[-3000:]])
        raise AssertionError(
            f"the page shows {answer()}, not {wanted}; its state is {state}, its overlay"
            f" {overlay()!r}:\n{said}"
        )


def overlay() -> str:
    return str(
        pages.browser().execute_script(
            "return document.querySelector('vite-error-overlay')?.shadowRoot.textContent ?? ''"
        )
    )


def changed(model: Any, factor: float) -> Any:
    model.set_weights([weight * factor for weight in model.get_weights()])
    return model


def test_new_weights_keep_the_page(served: project.Dev, place: Path, model: Any) -> None:
    check_answers(model, served)
    before = opened()
    for factor in (1.25, 0.5):
        save(changed(model, factor), place)
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
    served: project.Dev, place: Path, model: Any
) -> None:
    check_answers(model, served)
    before = opened()
    other = wider(10, 3)
    save(other, place)
    check_answers(other, served)
    assert opened() == before


def test_other_outputs_load_the_page_anew(served: project.Dev, place: Path, model: Any) -> None:
    check_answers(model, served)
    before = opened()
    other = wider(12, 3)
    save(other, place)
    check_answers(other, served)
    assert opened() != before


def test_a_broken_model_is_reported_in_the_page_until_fixed(
    served: project.Dev, place: Path, model: Any
) -> None:
    check_answers(model, served)
    good = (place / "src" / NAME).read_bytes()
    (place / "src" / NAME).write_bytes(good[: len(good) // 2])
    said = pages.until(overlay, 60)
    assert NAME in said, said
    assert "webkiln" in said
    pages.browser().refresh()
    assert NAME in (pages.until(overlay, 60) or ""), (
        "a page that is loaded again shows the last good model, and says so"
    )
    (place / "src" / NAME).write_bytes(good)
    assert pages.until(lambda: not overlay() and answer(), 60)
    check_answers(model, served)


def test_a_model_that_is_broken_at_first_is_reported(elsewhere: Path, model: Any) -> None:
    (elsewhere / "src" / NAME).write_bytes(b"not a model")
    with project.serving(elsewhere, SCRIPT, "/") as dev:
        pages.browser().get(dev.url)
        said = pages.until(overlay, 60)
        assert NAME in said, said
        save(changed(model, 0.75), elsewhere)
        check_answers(model, dev)
        assert overlay() == ""
        pages.browser().get("about:blank")


def test_isolated_by_one_option(served: project.Dev, model: Any) -> None:
    check_answers(model, served)
    assert pages.browser().execute_script("return crossOriginIsolated") is True


def test_webpack_loads_the_page_anew(elsewhere: Path, model: Any) -> None:
    lay_digits(elsewhere)
    with project.serving(elsewhere, ("webpack", "--host=127.0.0.1", "--port={port}"), "/") as dev:
        pages.browser().get(dev.url)
        check_answers(model, dev)
        before = opened()
        save(changed(model, 1.25), elsewhere)
        check_answers(model, dev)
        assert opened() != before
        pages.browser().get("about:blank")

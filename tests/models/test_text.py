"""The networks that generate text: their states, compared step by step with the trained network, in
Node and on the demo page.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.support.wait import WebDriverWait

from tests.backends.harness import ROOT
from webkiln.backends import browsers
from webkiln.backends.server import Server

sys.path.insert(0, str(ROOT / "models"))
import text_generation

SCRIPT = Path(__file__).with_name("text.mjs")
PROMPT = "The class of an object "
LENGTH = 64
RUNS = (7, 1, 1, 40, 90, 1, 3)
"""Characters, one per run; together they exceed the memory of the decoder."""
TEXTS = ("text_decoder", "text_lstm")
pytestmark = pytest.mark.parametrize("model", TEXTS, indirect=True)


@pytest.fixture(scope="module")
def bundle(model):
    return model.bundle()


def trained(name):
    """The trained network with the weights of the bundle: the logits of the next character, for
    each character.
    """
    network, stateful = (
        text_generation.NETWORKS[name](stateful=False),
        text_generation.trained(name),
    )
    for variable, value in zip(
        network.trainable_variables, stateful.trainable_variables, strict=True
    ):
        variable.assign(value)
    return network


def run(bundle, backend, runs):
    request = json.dumps({"prompt": PROMPT, "length": LENGTH, "runs": runs})
    command = ["node", str(SCRIPT), (bundle / "index.js").as_uri(), backend, request]
    return json.loads(
        subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    )


@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.sample("wasm-text_lstm")
def test_a_bundle_generates_the_text_of_the_trained_network(model, bundle, backend):
    network = trained(model.recipe.name)
    tokens = text_generation.encode(PROMPT)
    for _ in range(LENGTH):
        logits = np.asarray(network(tokens[None], training=False))[0, -1]
        tokens = np.append(tokens, logits.argmax().astype(np.int32))
    runs = np.split(np.tile(tokens, 2)[: sum(RUNS)], np.cumsum(RUNS)[:-1])
    generated = run(bundle, backend, [part.tolist() for part in runs])
    assert PROMPT + generated["text"] == "".join(
        text_generation.CHARACTERS[number] for number in tokens
    )
    read = np.concatenate(runs)
    expected = np.exp(np.asarray(network(read[None], training=False), np.float64))[0]
    for end, scores in zip(np.cumsum(RUNS), generated["scores"], strict=True):
        if end <= text_generation.MEMORY or model.recipe.name == "text_lstm":
            np.testing.assert_allclose(
                scores, expected[end - 1] / expected[end - 1].sum(), atol=2e-5
            )


def test_the_page_streams_text(model, bundle):
    folders = {
        "/models/text_decoder/demo/": ROOT / "models" / "text_decoder" / "demo",
        "/dist/text_decoder/": bundle,
        "/dist/text_lstm/": bundle,
    }
    with Server(folders) as server:
        browser = browsers.session("chromium")
        browser.get(server.url + "/models/text_decoder/demo/")
        WebDriverWait(browser, 20).until(
            lambda page: page.execute_script("return document.body.dataset.ready")
        )
        browser.execute_script(
            "document.getElementById('length').value = 50;"
            " document.getElementById('temperature').value = 0"
        )
        browser.find_element("id", "generate").click()
        WebDriverWait(browser, 30).until(
            lambda page: page.execute_script("return document.body.dataset.generated")
        )
        text = browser.find_element("id", "generated").get_property("textContent")
        browser.get("about:blank")
    assert text == run(bundle, "wasm", [[1]])["text"][:50]

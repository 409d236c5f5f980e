"""Models whose GPU device is lost: the next run loads them again, in the page and in a Worker, from
the cache; lost states are reported first.
"""

from pathlib import Path
from typing import Any

import pytest

from webkiln.backends import browsers
from webkiln.backends.server import ISOLATED, Server
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

PRELUDE = """
const channel = new BroadcastChannel('lose');
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (...wanted) {
  const device = await requestDevice.apply(this, wanted);
  globalThis.devices = (globalThis.devices ?? 0) + 1;
  channel.onmessage = () => device.destroy();
  return device;
};"""
"""A message destroys the last device of the thread."""
PAGE = """const done = arguments[0];
PRELUDE
const RealWorker = globalThis.Worker;
globalThis.Worker = class {
  constructor(url, options) {
    const text = `${PRELUDE_TEXT}; await import(${JSON.stringify(String(url))});`;
    const script = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    return new RealWorker(script, options);
  }
};
let fetches = 0;
globalThis.fetch = (real => (...values) => { fetches += 1; return real(...values); })(fetch);
const sender = new BroadcastChannel('lose');
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
const inputs = Float32Array.from({ length: 12 }, (_, at) => Math.sin(at));
const values = async promise => [...Object.values(await promise)[0]];
const failure = promise => promise.then(
  () => null, ({ code, message }) => ({ code, message }));
const lost = [];
const open = async options => {
  const { load } = await import(`/${options.states ? 'stateful' : 'plain'}/index.js`);
  const { states, ...rest } = options;
  return load({
    backends: ['webgpu'], onlost: ({ code, message }) => lost.push({ code, message }), ...rest });
};
/** Destroy the device, and wait until `onlost` has been called. */
const lose = async () => {
  const before = lost.length;
  sender.postMessage(0);
  for (let turn = 0; turn < 100 && lost.length === before; turn++) await wait(50);
};
(async () => { BODY })().then(done, error => done({ error: String(error.stack) }));"""


def build(folder: Path, name: str, stateful: bool) -> Path:
    import keras

    x = keras.Input(batch_shape=(1, 4, 3), name="steps")
    y = keras.layers.LSTM(5, stateful=stateful, name="memory")(x)
    keras.Model(x, keras.layers.Dense(2, name="head")(y)).save(folder / f"{name}.keras")
    recipe = Recipe(name, PathSource(folder / f"{name}.keras"))
    with Engine(folder / ".webkiln") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(("webgpu",))), "bundle/", folder / name)
    return folder / name


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("recovery")
    return {f"/{name}/": build(folder, name, name == "stateful") for name in ("plain", "stateful")}


def perform(bundles: dict[str, Path], body: str) -> dict[str, Any]:
    """What the statements return in a page."""
    text = PRELUDE.replace("`", "\\`").replace("$", "\\$")
    script = PAGE.replace("${PRELUDE_TEXT}", text).replace("PRELUDE", PRELUDE)
    page = {"/": (200, "text/html", b"<!doctype html><title>recovery</title>")}
    with Server(bundles, headers=ISOLATED, route=lambda path, body: page.get(path)) as server:
        session = browsers.session("chromium")
        session.get(server.url)
        result: dict[str, Any] = session.execute_async_script(script.replace("BODY", body))
    assert "error" not in result, result["error"]
    return result


IDLE = """const model = await open({ worker: WORKER, SAVED });
const first = await values(model.run(inputs));
await wait(500);
await lose();
const before = fetches;
const second = await values(model.run(inputs));
const asked = fetches - before;
await lose();
const third = await values(model.run(inputs));
model.dispose();
return { first, second, third, asked, lost };"""


@pytest.mark.parametrize("worker", ["true", "false"])
def test_an_idle_model_is_loaded_again(bundles: dict[str, Path], worker: str) -> None:
    result = perform(bundles, IDLE.replace("WORKER", worker).replace("SAVED", ""))
    assert result["first"] == result["second"] == result["third"]
    assert [error["code"] for error in result["lost"]] == ["DeviceLost"] * 2
    assert all("loads it again" in error["message"] for error in result["lost"])


@pytest.mark.parametrize(("saved", "asked"), [("saveCache: true", 0), ("", 1)])
def test_weights_come_from_the_cache(bundles: dict[str, Path], saved: str, asked: int) -> None:
    result = perform(bundles, IDLE.replace("WORKER", "false").replace("SAVED", saved))
    assert (result["asked"], result["first"]) == (asked, result["second"])


def test_pending_runs_are_rejected_once(bundles: dict[str, Path]) -> None:
    result = perform(
        bundles,
        """const model = await open({ worker: false });
        const first = await values(model.run(inputs));
        const pending = [0, 1, 2].map(() => failure(model.run(inputs)));
        model.device.destroy();
        const errors = await Promise.all(pending);
        const both = await Promise.all([0, 1].map(() => values(model.run(inputs))));
        await wait(1000);
        const last = await values(model.run(inputs));
        return { first, errors, both, last, lost, devices };""",
    )
    assert [error["code"] for error in result["errors"]] == ["DeviceLost"] * 3
    assert result["both"] == [result["first"]] * 2
    assert result["last"] == result["first"]
    assert (len(result["lost"]), result["devices"]) == (1, 2)


@pytest.mark.parametrize("worker", ["true", "false"])
def test_lost_states_are_reported_first(bundles: dict[str, Path], worker: str) -> None:
    body = """const model = await open({ states: true, worker: WORKER });
    const [first, second] = [await values(model.run(inputs)), await values(model.run(inputs))];
    await lose();
    const refused = await failure(model.run(inputs));
    const again = await values(model.run(inputs));
    await model.run(inputs);
    await lose();
    await model.reset();
    const afterReset = await values(model.run(inputs));
    await lose();
    const layers = await failure(model.layers());
    model.dispose();
    const disposed = await failure(model.run(inputs));
    return { first, second, refused, again, afterReset, layers, disposed, lost };"""
    result = perform(bundles, body.replace("WORKER", worker))
    assert result["first"] != result["second"]
    assert result["refused"]["code"] == "DeviceLost"
    assert "the states are lost" in result["refused"]["message"]
    assert result["again"] == result["afterReset"] == result["first"]
    assert (result["layers"]["code"], result["disposed"]["code"]) == ("DeviceLost", "Disposed")
    assert all("the states are lost" in error["message"] for error in result["lost"])


def test_a_device_of_the_page_ends_the_model_and_tells_once(bundles: dict[str, Path]) -> None:
    result = perform(
        bundles,
        """const device = await (await navigator.gpu.requestAdapter()).requestDevice();
        const model = await open({ worker: false, device });
        await model.run(inputs);
        await lose();
        return { errors: [await failure(model.run(inputs)), await failure(model.reset())], lost };
        """,
    )
    assert [error["code"] for error in result["errors"]] == ["DeviceLost"] * 2
    assert "with a new device" in result["errors"][0]["message"]
    assert len(result["lost"]) == 1


def test_a_callback_must_be_a_function(bundles: dict[str, Path]) -> None:
    result = perform(bundles, "return failure(open({ onlost: 3 }));")
    assert (result["code"], "expected a function" in result["message"]) == ("WrongOption", True)


def test_the_device_has_the_memory_limits_of_its_adapter(bundles: dict[str, Path]) -> None:
    result = perform(
        bundles,
        """const adapter = await navigator.gpu.requestAdapter();
        const model = await open({ worker: false });
        const of = ({ limits }) => [limits.maxBufferSize, limits.maxStorageBufferBindingSize];
        return { adapter: of(adapter), device: of(model.device) };""",
    )
    assert result["device"] == result["adapter"]

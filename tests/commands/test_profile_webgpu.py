"""Profiles on webgpu: peaks and the time of a run by timestamps, of the software adapter and of a
GPU with a known clock.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bundle_page import in_page
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.commands.figures import remarks
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

ROUND_NS, PASS_NS, EMPTY_NS, LAUNCH_NS = 1000, 70_000, 5_000, 25_000
"""The clock of the GPU below: of a round of a loop that measures a peak, of a whole run, and of
launches in a pass of their own.
"""
ROUND_FLOPS, ROUND_BYTES = 2048 * 256 * 8 * 4 * 4 * 2, 256 << 20
CLOCK = """let rounds = 1;
const { writeBuffer } = GPUQueue.prototype, { mapAsync, getMappedRange } = GPUBuffer.prototype;
const { dispatchWorkgroups } = GPUComputePassEncoder.prototype;
GPUQueue.prototype.writeBuffer = function (buffer, offset, data, ...others) {
  if (buffer.label === 'rounds') rounds = data[0];
  return writeBuffer.call(this, buffer, offset, data, ...others);
};
GPUComputePassEncoder.prototype.dispatchWorkgroups = function (x, ...others) {
  if (x !== 2048) dispatchWorkgroups.call(this, x, ...others);
};
GPUBuffer.prototype.mapAsync = async function (...range) {
  await mapAsync.apply(this, range);
  if (this.label === 'times') await new Promise(resolve => setTimeout(resolve, 2));
};
GPUBuffer.prototype.getMappedRange = function (...range) {
  if (this.label !== 'times') return getMappedRange.apply(this, range);
  const passes = this.size / 16;
  const ns = { 1: rounds * ROUND_NS, 5: PASS_NS, 64: EMPTY_NS }[passes] ?? LAUNCH_NS;
  return BigUint64Array.from({ length: 2 * passes }, (_, at) => BigInt(at % 2 ? ns : 0)).buffer;
};"""
"""A GPU whose timestamps are known, and whose results arrive after 2 ms, as in Chromium."""


def clock(round_ns: int = ROUND_NS) -> str:
    values = {"ROUND_NS": round_ns, "PASS_NS": PASS_NS, "EMPTY_NS": EMPTY_NS}
    text = CLOCK
    for name, value in {**values, "LAUNCH_NS": LAUNCH_NS}.items():
        text = text.replace(name, str(value))
    return text


@pytest.fixture(scope="module")
def stateful(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a network with states between its runs."""
    import keras

    folder = tmp_path_factory.mktemp("stateful")
    x = keras.Input(batch_shape=(1, 4, 3), name="steps")
    y = keras.layers.LSTM(5, stateful=True, name="memory")(x)
    keras.Model(x, keras.layers.Dense(2, name="head")(y)).save(folder / "stateful.keras")
    recipe = Recipe("stateful", PathSource(folder / "stateful.keras"))
    with Engine(folder / ".webkiln", cache=cache) as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(("webgpu",))), "bundle/", folder / "bundle")
    return folder / "bundle"


def perform(bundle: Path, patch: str) -> dict[str, Any]:
    """The outputs of three runs, once with a profile after each and once without, and the last
    profile.
    """
    script = f"""const done = arguments[0];
{patch}
import('/bundle/index.js').then(async ({{ load }}) => {{
  const outputs = [];
  let last;
  for (const profile of [true, false]) {{
    const model = await load({{ backends: ['webgpu'], worker: false, profile }});
    for (let run = 0; run < 3; run++) {{
      const values = Float32Array.from({{ length: 12 }}, (_, at) => Math.sin(run + at));
      outputs.push([...Object.values(await model.run(values))[0]]);
      if (profile) last = await model.profile();
    }}
    model.dispose();
  }}
  done({{ outputs, profile: last }});
}}).catch(error => done({{ error: String(error) }}));"""
    result = in_page(bundle, script)
    assert "error" not in result, result["error"]
    return result


def test_a_profile_keeps_states(stateful: Path) -> None:
    result = perform(stateful, "")
    profiled, alone = result["outputs"][:3], result["outputs"][3:]
    assert profiled == alone
    assert len({json.dumps(output) for output in alone}) == 3
    profile = result["profile"]
    assert profile["gpu"]["launches"] == sum(launch["count"] for launch in profile["launches"])
    assert profile["gpu"]["passMs"] > 0
    assert min(profile["peakGflops"], profile["peakGigabytes"]) > 0


def test_peaks_and_gaps_are_those_of_the_clock(stateful: Path) -> None:
    profile = perform(stateful, clock())["profile"]
    assert profile["peakGflops"] == pytest.approx(ROUND_FLOPS / ROUND_NS)
    assert profile["peakGigabytes"] == pytest.approx(ROUND_BYTES / ROUND_NS)
    count = sum(launch["count"] for launch in profile["launches"])
    assert count not in (1, 5, 64)
    kernels = count * (LAUNCH_NS - EMPTY_NS) / 1e6
    assert profile["gpu"] == pytest.approx(
        {
            "launches": count,
            "passMs": PASS_NS / 1e6,
            "kernelMs": kernels,
            "gapMs": PASS_NS / 1e6 - kernels,
            "emptyMs": EMPTY_NS / 1e6,
        }
    )
    text = "\n".join(remarks(profile))
    assert "peak: 134,218 GFLOP/s, measured with a multiply-add loop on the GPU" in text
    assert f"and {ROUND_BYTES / ROUND_NS:,.0f} GB/s with reads from memory" in text
    assert f"in one pass, {count} launches take 70 µs of GPU time: {kernels * 1e3:.3g} µs" in text


def test_zero_timestamps_are_no_peak(stateful: Path) -> None:
    profile = perform(stateful, clock(round_ns=0))["profile"]
    assert (profile["peakGflops"], profile["peakGigabytes"]) == (None, None)
    assert "peak: not measured" in "\n".join(remarks(profile))

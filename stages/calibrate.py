"""A bundle that observes activations, and samples -> their ranges and means."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.backends import host
from webkiln.backends.compare import sets_of
from webkiln.build import stage
from webkiln.errors import SourceError
from webkiln.quantize.encode import Calibration, Slots
from webkiln.quantize.ranges import METHODS, Observed

DATA = ()
TOGETHER = 4
"""The samples that one process runs; the activations of all of them are in memory."""


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    slots = Slots.from_json(canonical.read(inputs["slots.json"]))
    axes = {product.site: product.channel_axis for product in slots.corrections}
    samples = sets_of(npz.read(inputs["samples.npz"]), "in")
    seen = {name: Observed() for name in slots.sites}
    for first in range(0, len(samples), TOGETHER):
        stage.report_progress(f"sample {first + 1} of {len(samples)}")
        names = list(samples)[first : first + TOGETHER]
        results = host.run_bundle(
            inputs["bundle/"],
            params["backend"],
            [samples[name] for name in names],
            host="node",
            layers=True,
        )
        for name, result in zip(names, results, strict=True):
            for layer in result.layers:
                if layer.layer in seen:
                    try:
                        seen[layer.layer].add(layer.value, axes[layer.layer], len(samples))
                    except SourceError as error:
                        raise SourceError(f"sample {name}, {layer.layer}: {error}") from None
    found = {name: METHODS[params["ranges"]](item) for name, item in seen.items()}
    calibration = Calibration(
        {name: (item.scale, item.zero) for name, item in found.items()},
        {product.node: seen[product.site].means for product in slots.corrections},
    )
    canonical.write(outputs["calibration.json"], calibration.to_json())


if __name__ == "__main__":
    stage.main()

from webkiln import canonical
from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    facts = canonical.read(inputs["spec.json"])
    canonical.write(outputs["graph.json"], {"nodes": [{"op": layer} for layer in facts["layers"]]})
    canonical.write(
        outputs["weights.json"],
        {"slots": {name: {"digest": digest} for name, digest in facts["weights"].items()}},
    )
    canonical.write(outputs["sizes.json"], {})
    canonical.write(outputs["texts.json"], {})


if __name__ == "__main__":
    stage.main()

from webkiln import canonical
from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    facts = canonical.read(inputs["facts.json"])
    canonical.write(outputs["graph.json"], {"name": params["name"], "layers": facts["layers"]})
    canonical.write(outputs["weights.json"], facts["weights"])


if __name__ == "__main__":
    stage.main()

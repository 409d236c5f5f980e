from importlib import import_module

from webkiln import canonical
from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    graph = canonical.read(inputs["graph.json"])
    apply = import_module(f"webkiln.passes.{params['pass']}").apply
    layers = apply([node["op"] for node in graph["nodes"]])
    canonical.write(outputs["graph.json"], {"nodes": [{"op": layer} for layer in layers]})


if __name__ == "__main__":
    stage.main()

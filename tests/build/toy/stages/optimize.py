from importlib import import_module

from webkiln import canonical
from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    graph = canonical.read(inputs["graph.json"])
    apply = import_module(f"webkiln.passes.{params['pass']}").apply
    canonical.write(outputs["graph.json"], graph | {"layers": apply(graph["layers"])})


if __name__ == "__main__":
    stage.main()

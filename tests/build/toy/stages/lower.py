from webkiln import canonical
from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    layers = [node["op"] for node in canonical.read(inputs["graph.json"])["nodes"]]
    canonical.write(
        outputs["program.json"],
        {"backend": params["backend"], "kernels": layers, "encoding": params["encoding"]},
    )


if __name__ == "__main__":
    stage.main()

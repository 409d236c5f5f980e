from webkiln import canonical
from webkiln.build import stage
from webkiln.errors import SourceError

DATA = ()


def run(inputs, outputs, params):
    try:
        model = canonical.read(inputs["source"])
    except ValueError as error:
        raise SourceError(f"model: not a toy model: {error}") from error
    digests = {}
    for name, text in sorted(model["weights"].items()):
        digests[name] = canonical.digest(text.encode())
        (outputs["weights/"] / digests[name]).write_bytes(text.encode())
    canonical.write(outputs["spec.json"], {"layers": model["layers"], "weights": digests})


if __name__ == "__main__":
    stage.main()

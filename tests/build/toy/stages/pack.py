from webkiln import canonical
from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    slots = canonical.read(inputs["weights.json"])["slots"]
    data = b"|".join(
        (inputs["weights/"] / digest).read_bytes()
        for digest in sorted(slot["digest"] for slot in slots.values())
    )
    data = params["encoding"].encode() + b":" + data
    name = f"weights-{canonical.digest(data)[:8]}.bin"
    (outputs["shards/"] / name).write_bytes(data)
    canonical.write(outputs["shards.json"], {"shards": [name]})


if __name__ == "__main__":
    stage.main()

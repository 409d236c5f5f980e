from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    objects = sorted(path for path in inputs["objects/"].rglob("*") if path.is_file())
    outputs["model.wasm"].write_bytes(b"".join(path.read_bytes() for path in objects))


if __name__ == "__main__":
    stage.main()

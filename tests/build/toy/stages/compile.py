from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    for source in inputs["sources/"].iterdir():
        (outputs["objects/"] / f"{source.stem}.o").write_bytes(
            params["variant"].encode() + b" " + source.read_bytes()
        )


if __name__ == "__main__":
    stage.main()

import shutil

from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    shutil.copyfile(inputs["source"], outputs["reference.npz"])
    outputs["layers.npz"].write_bytes(b"")


if __name__ == "__main__":
    stage.main()

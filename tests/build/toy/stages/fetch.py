import shutil

from webkiln.build import stage

DATA = ()


def run(inputs, outputs, params):
    assert params == {"kind": "path"}
    shutil.copyfile(inputs["source"], outputs["source"])


if __name__ == "__main__":
    stage.main()

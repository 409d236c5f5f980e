import shutil

from webkiln.build import stage
from webkiln.plugins import import_file

DATA = ()


def run(inputs, outputs, params):
    if params["kind"] == "export":
        import_file(inputs["script.py"]).export(outputs["source"])
    else:
        shutil.copyfile(inputs["source"], outputs["source"])


if __name__ == "__main__":
    stage.main()

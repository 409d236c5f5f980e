import shutil

from webkiln import canonical
from webkiln.build import stage

DATA = ("runtime/*.js",)


def run(inputs, outputs, params):
    bundle = outputs["bundle/"]
    for backend in params["backends"]:
        shutil.copyfile(inputs[f"code.{backend}/"] / f"{backend}.js", bundle / f"{backend}.js")
    for variant in params["variants"]:
        shutil.copyfile(inputs[f"wasm.{variant}"], bundle / f"{variant}.wasm")
    for shard in canonical.read(inputs["shards.json"])["shards"]:
        shutil.copyfile(inputs["shards/"] / shard, bundle / shard)
    files = {path.name: {"sha256": canonical.file_digest(path)} for path in bundle.iterdir()}
    canonical.write(bundle / "manifest.json", {"schema": "webkiln.bundle/1", "name": params["name"], "encoding": params["encoding"], "backends": params["backends"], "files": files})


if __name__ == "__main__":
    stage.main()

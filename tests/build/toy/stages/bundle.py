import shutil

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.names import bundle_files

DATA = ("runtime/*.js",)


def run(inputs, outputs, params):
    bundle = outputs["bundle/"]
    for backend in params["backends"]:
        shutil.copyfile(inputs[f"code.{backend}/"] / f"{backend}.js", bundle / f"{backend}.js")
    for variant in params["variants"].get("wasm", []):
        shutil.copyfile(inputs[f"wasm.{variant}"], bundle / f"{variant}.wasm")
    for shard in canonical.read(inputs["shards.json"])["shards"]:
        shutil.copyfile(inputs["shards/"] / shard, bundle / shard)
    written = {path.name for path in bundle.iterdir()}
    for name in {*bundle_files(params["name"], params["backends"])} - written - {"manifest.json"}:
        (bundle / name).write_text(f"// {name}\n")
    files = {path.name: {"sha256": canonical.file_digest(path)} for path in bundle.iterdir()}
    canonical.write(
        bundle / "manifest.json",
        {
            "schema": "webkiln.bundle/1",
            "name": params["name"],
            "encoding": params["encoding"],
            "backends": params["backends"],
            "launches": {},
            "files": files,
        },
    )


if __name__ == "__main__":
    stage.main()

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.share import shared_root

DATA = ("kernels/*",)


def run(inputs, outputs, params):
    code = outputs["code/"]
    kernels = canonical.read(inputs["program.json"])["kernels"]
    suffix = {"wasm": "c", "js": "js"}[params["backend"]]
    texts = {
        kernel: (shared_root() / "kernels" / f"{kernel}.{suffix}.jinja").read_text()
        for kernel in kernels
    }
    if suffix == "c":
        (code / "kernels").mkdir()
        for kernel, text in texts.items():
            (code / "kernels" / f"{kernel}.c").write_text(text)
        (code / "main.c").write_text("".join(f"{kernel}();\n" for kernel in kernels))
        texts = {}
    (code / f"{params['backend']}.js").write_text(
        "".join(texts.values()) + f"export const kernels = {kernels};\n"
    )


if __name__ == "__main__":
    stage.main()

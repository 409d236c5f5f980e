"""Puts the shared files into the standard wheel as `webkiln/_share/`; an editable install finds
them in the checkout.
"""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHARED = (
    "stages/*.py",
    "kernels/**/*",
    "runtime/engines/*.js",
    "runtime/src/**/*",
    "runtime/*.js*",
    "runtime/unplugin/package.json",
    "runtime/unplugin/*.d.ts",
    "runtime/unplugin/src/*.js",
    "models/digits/*",
    "toolchain.lock",
    "requirements.lock",
)


class SharedFiles(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "standard":
            root = Path(self.root)
            files = sorted(
                {path for pattern in SHARED for path in root.glob(pattern) if path.is_file()}
            )
            build_data["force_include"] |= {
                str(path): f"webkiln/_share/{path.relative_to(root).as_posix()}" for path in files
            }

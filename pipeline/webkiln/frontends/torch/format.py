"""The format record: programs of torch.export (.pt2), TorchScript files, and functions that return
a module.
"""

from webkiln.frontends.core.model_format import FileHeader, ModelFormat

SCRIPT = frozenset({"data.pkl", "constants.pkl"})
ARCHIVE = frozenset({"archive_format", "archive_version"})


def _fits(header: FileHeader) -> bool:
    return (
        header.members >= SCRIPT
        or header.members >= ARCHIVE
        or "serialized_exported_program.json" in header.members
    )


TORCH = ModelFormat(
    name="torch",
    title="a PyTorch model",
    suffixes=(".pt2", ".pt", ".pth", ".ts"),
    fits=_fits,
    parameters={
        "fetch": ("modules", "module_weights", "weights_config", "input_shapes"),
        "load": ("trust", "cut", "input_shapes", "values"),
        "convert": ("plugins", "cut", "dims", "input_shapes", "values"),
        "reference": ("trust", "cut", "dims", "input_shapes", "values", "samples"),
    },
    may_have_open_sizes=True,
)

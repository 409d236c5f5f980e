"""PyTorch, for stages that read models and compute references with it."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from webkiln.errors import MissingPackageError


def require_torch(why: str) -> None:
    """Raise MissingPackageError, with the purpose, if torch is missing."""
    try:
        import torch  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingPackageError(
            f"{why}; this needs PyTorch, which is not installed: pip install torch", "torch"
        ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Run torch with one thread, without deprecation warnings and gradients; pickles may contain
    tensors only.
    """
    import torch

    threads, level = torch.get_num_threads(), logging.root.manager.disable
    before = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
        torch.set_num_threads(threads)
        del os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"]
        if before is not None:
            os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = before

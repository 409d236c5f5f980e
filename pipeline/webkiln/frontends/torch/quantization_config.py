"""What the quantize_config.json or config.json of a model says about its weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError

LARGEST = 16 << 20
NESTED = ("quantization_config", "compression_config")
AWQ_LAYOUT = "gemm"
UNKNOWN = (
    "whether its zero points are stored less 1 (checkpoint_format gptq) or not (gptq_v2) is"
    " unknown: put the quantize_config.json or config.json of the model next to the file"
)


class LayoutError(ValueError):
    """What prevents a weight from being read."""


@dataclass(frozen=True, slots=True)
class QuantizationConfig:
    """The settings of the tool that wrote the file; `metadata` is that of the file itself."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def group_size(self) -> int:
        """The inputs of a group; -1 means all, 0 is unknown."""
        size = self.settings.get("group_size", self.settings.get("q_group_size"))
        return size if type(size) is int and (size > 0 or size == -1) else 0

    def gptq_layout(self) -> str:
        """`gptq` or `gptq_v2`. Raises LayoutError for others, and if it cannot be told."""
        layout = self._layout()
        if layout is None and ("auto_gptq_version" in self.metadata or self._method() == "gptq"):
            layout = "gptq"
        if layout is None:
            raise LayoutError(UNKNOWN)
        if layout not in ("gptq", "gptq_v2"):
            raise LayoutError(f"its layout is {layout}, expected gptq or gptq_v2")
        return layout

    def check_awq(self) -> None:
        """Raises LayoutError if the layout is another one than `gemm`."""
        layout = self._layout() or str(self.settings.get("version", AWQ_LAYOUT)).lower()
        if layout != AWQ_LAYOUT:
            raise LayoutError(f"its layout is {layout}, expected {AWQ_LAYOUT}")

    def _method(self) -> str:
        method = self.settings.get("quant_method", self.settings.get("method"))
        return str(method or ("gptq" if "desc_act" in self.settings else "")).lower()

    def _layout(self) -> str | None:
        if self.settings.get("is_marlin_format"):
            return "marlin"
        for name in ("checkpoint_format", "format"):
            if isinstance(value := self.settings.get(name), str):
                return value.lower()
        return None


def read_config(path: Path | None, metadata: Mapping[str, Any]) -> QuantizationConfig:
    """The settings in a JSON file of a model. Raises SourceError if it is none."""
    if path is None:
        return QuantizationConfig({}, metadata)
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(LARGEST))
    except (ValueError, RecursionError):
        raise SourceError(
            f"{path.name}: is not JSON, or larger than {LARGEST} bytes; it has to be the"
            " quantize_config.json or config.json of the model"
        ) from None
    document = document if isinstance(document, Mapping) else {}
    inner = next((document[name] for name in NESTED if name in document), document)
    return QuantizationConfig(inner if isinstance(inner, Mapping) else {}, metadata)

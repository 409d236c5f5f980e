def apply(layers: list[str]) -> list[str]:
    return [layer for layer in layers if layer != "noop"]

def apply(layers: list[str]) -> list[str]:
    return layers

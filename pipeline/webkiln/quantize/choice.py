"""Which encoding each weight has."""

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from webkiln.errors import RecipeError, did_you_mean
from webkiln.quantize.weights import Weight


def uniform(
    weights: Collection[Weight], encoding: str, layers: Mapping[str, str]
) -> dict[str, str]:
    """The encoding of each weight by name: the closest that it can have to `encoding`, or to that
    of its layer. Raise RecipeError as `by_layer` does.
    """
    return {weight.name: weight.encoding(encoding) for weight in weights} | by_layer(
        weights, layers
    )


def by_layer(weights: Collection[Weight], layers: Mapping[str, str]) -> dict[str, str]:
    """The encodings of the weights whose layers match a pattern, as in "block_1*". The last pattern
    counts.

    Raise RecipeError for a pattern that matches no layer with weights.
    """
    names = dict.fromkeys(weight.layer for weight in weights)
    for pattern in layers:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise RecipeError(
                f"quantize: layers names {pattern!r}, which is no layer with weights of floats"
                f" and two axes or more{did_you_mean(pattern, names)}; they are"
                f" {', '.join(names) or 'none'}"
            )
    return {
        weight.name: weight.encoding(encoding)
        for pattern, encoding in layers.items()
        for weight in weights
        if fnmatchcase(weight.layer, pattern)
    }

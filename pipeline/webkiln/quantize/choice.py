"""Which encoding each weight has."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from webkiln.errors import RecipeError, did_you_mean
from webkiln.quantize.weights import Weight


def uniform(weights: Iterable[Weight], encoding: str, layers: Mapping[str, str]) -> dict[str, str]:
    """The encoding of each weight by name: the closest that it can have to `encoding`, or to that
    of the last pattern in `layers` that matches its layer, as in "block_1*".

    Raise RecipeError for a pattern that matches no layer with weights.
    """
    chosen: dict[str, str] = {}
    matched: set[str] = set()
    names: dict[str, None] = {}
    for weight in weights:
        names[weight.layer] = None
        wanted = encoding
        for pattern, other in layers.items():
            if fnmatchcase(weight.layer, pattern):
                wanted = other
                matched.add(pattern)
        chosen[weight.name] = weight.encoding(wanted)
    for pattern in layers:
        if pattern not in matched:
            raise RecipeError(
                f"quantize: layers names {pattern!r}, which is no layer with weights of floats"
                f" and two axes or more{did_you_mean(pattern, names)}; they are"
                f" {', '.join(names) or 'none'}"
            )
    return chosen

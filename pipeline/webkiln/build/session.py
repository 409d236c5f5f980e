"""The context of one doit command. The engine and the recipes are loaded lazily: null builds need
neither.
"""

import atexit
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from webkiln.build import progress
from webkiln.build.digests import DIGESTS, FileDigests
from webkiln.build.lock import CheckoutLock
from webkiln.build.remote.signing import signer_from_environment
from webkiln.build.share import Share, share
from webkiln.build.stamps import Stamps, read_stamps

if TYPE_CHECKING:
    from webkiln.build.engine import Engine
    from webkiln.build.graph import ModelGraph
    from webkiln.build.variables import Variables
    from webkiln.recipe.recipe import Recipe


@dataclass(frozen=True)
class Session:
    """`folder` contains the recipes, and `state` what the checkout remembers. `arguments` are the
    variables of the command line.
    """

    state: Path
    folder: Path
    arguments: Mapping[str, str]
    lock: CheckoutLock

    @cached_property
    def engine(self) -> "Engine":
        """Closed by `close`, or at the latest when the process ends. Raises UserError where the
        environment names an invalid cache, key or fleet.
        """
        from webkiln.build.engine import Engine

        engine = Engine(self.state, progress=progress.console(), stamps=self.__dict__.get("stamps"))
        atexit.register(engine.close)
        return engine

    def close(self) -> None:
        """Close the engine, if it exists, while threads can still be started: results may have to
        be uploaded to a remote cache.
        """
        if "engine" in self.__dict__:
            atexit.unregister(self.engine.close)
            self.engine.close()

    @cached_property
    def variables(self) -> "Variables":
        """Raises RecipeError where a recipe or a variable is invalid."""
        from webkiln.build.variables import read_variables

        return read_variables(self.arguments, self.all_recipes())

    def all_recipes(self) -> "Mapping[str, Recipe]":
        """The recipes of all models, whether requested or not."""
        from webkiln.recipe.read import read_recipes

        return read_recipes(self.folder)

    @cached_property
    def stamps(self) -> Stamps:
        """The recorded stamps of the tree. They need no engine."""
        state = self.state.absolute()
        return read_stamps(state, share(), FileDigests(state / DIGESTS), signer_from_environment())

    def read_again(self, share: Share) -> "Iterator[tuple[ModelGraph, str, Variables]]":
        """The requested models in each encoding, according to the present recipes."""
        from webkiln.build.graph import ModelGraph
        from webkiln.build.variables import read_variables

        variables = read_variables(self.arguments, self.all_recipes())
        for recipe in variables.models.values():
            graph = ModelGraph(recipe, share)
            for encoding in variables.encodings or recipe.bundle.encodings:
                yield graph, encoding, variables

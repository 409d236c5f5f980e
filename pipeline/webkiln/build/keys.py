"""Action keys: the SHA-256 of a canonical document that names everything an execution depends on,
and nothing else.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import Action, Modules
from webkiln.build.closure import Closures
from webkiln.build.environment import keyed
from webkiln.build.share import Share
from webkiln.build.tools import Toolchain

SCHEMA = "webkiln.key/2"


class Keys:
    """Computes key documents. The code part is a table of files, so that two keys can be compared
    line by line.
    """

    def __init__(self, share: Share, closures: Closures, toolchain: Toolchain) -> None:
        self._share = share
        self._closures = closures
        self._toolchain = toolchain

    def code(self, action: Action) -> dict[str, str]:
        return self._closure(action)[0]

    def is_unchanged(self, action: Action) -> bool:
        """Whether webkiln's own files that an action runs are certainly the same as when its code
        was read.
        """
        has_modules = any(isinstance(value, Modules) for value in action.inputs.values())
        return not has_modules and self._closures.is_unchanged(self._roots(action))

    def modules(self, requested: Modules) -> dict[str, Path]:
        """The files of an input of user modules, by their names in it."""
        return self._closures.modules(requested)

    def document(
        self,
        action: Action,
        inputs: Mapping[str, str],
        *,
        actual: bool = False,
        scripts: Sequence[Path] = (),
        packages: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The key document of an action with these input digests. With `actual`, the tools are
        those of this machine. `scripts` are Python files, and `packages` distributions, that
        earlier runs imported.
        """
        files, modules = self._closure(action, scripts)
        names = (
            *action.requirements.tools,
            *self._toolchain.distributions(modules),
            *self._toolchain.discovered(packages),
        )
        return {
            "schema": SCHEMA,
            "stage": action.stage,
            "params": dict(action.params),
            "outputs": list(action.outputs),
            "inputs": dict(inputs),
            "code": files,
            "tools": self._toolchain.actual(names) if actual else self._toolchain.locked(names),
            "environment": keyed(os.environ, reaches_network=bool(action.user_reads.roots)),
        }

    def _roots(self, action: Action) -> tuple[Path, ...]:
        """webkiln's own files where the code of an action starts."""
        return (self._share.stage(action.stage), *action.requirements.code)

    def _closure(
        self, action: Action, scripts: Sequence[Path] = ()
    ) -> tuple[dict[str, str], frozenset[str]]:
        modules = [
            path
            for value in action.inputs.values()
            if isinstance(value, Modules)
            for path in self.modules(value).values()
        ]
        files, imported = self._closures.of((*self._roots(action), *modules))
        for script in scripts:
            more, others = self._closures.first_party(script)
            files, imported = files | more, imported | others
        return files, imported


def tree_digest(files: Mapping[str, str]) -> str:
    """The digest of a folder, from the names and digests of its files."""
    return canonical.key(dict(files))

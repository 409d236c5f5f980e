"""Installs Python packages that a source or a command needs.

It is opt-in: with `WEBKILN_INSTALL=1`, a command that lacks a package installs it and restarts.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection

from webkiln.build.share import share
from webkiln.errors import PACKAGES

VARIABLE = "WEBKILN_INSTALL"
TRIED = "WEBKILN_INSTALL_TRIED"
"""The modules that were installed for this command before; they are not tried twice."""


def install_and_restart(modules: Collection[str], close: Callable[[], None] = lambda: None) -> None:
    """Install the packages of these modules, keys of `PACKAGES`, in the versions of
    requirements.lock; then replace this process by the same command.

    Returns if `WEBKILN_INSTALL` is not 1, if this was tried before, or if pip fails and prints why.
    `close` is called before the process is replaced.
    """
    tried = os.environ.get(TRIED, "").split()
    todo = [module for module in modules if module in PACKAGES and module not in tried]
    if os.environ.get(VARIABLE) != "1" or not todo:
        return
    packages = list(
        dict.fromkeys(package for module in todo for package in shlex.split(PACKAGES[module]))
    )
    sys.stderr.write(f"installing {', '.join(packages)}, required by this command (once)\n")
    lock = share().root / "requirements.lock"
    constraint = ["--constraint", str(lock)] if lock.is_file() else []
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *constraint,
        *packages,
    ]
    if subprocess.run(command, check=False).returncode:
        return
    close()
    os.environ[TRIED] = " ".join([*tried, *todo])
    sys.stdout.flush()
    sys.stderr.flush()
    # The command of this process, again.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606

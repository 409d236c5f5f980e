"""`webkiln tools`: list programs and their versions, the selected compiler and why, and the
backends that can be compiled.
"""

import argparse
import sys
from collections.abc import Iterator

from webkiln.backends import compilers
from webkiln.backends.remote import VARIABLE, remote_url
from webkiln.build.backends import missing_compilers
from webkiln.build.tools import TOOLS, find, read_version
from webkiln.errors import ToolError
from webkiln.recipe.values import BACKENDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    backends = "print only the backends that can be compiled"
    compiler = "print only the selected compiler; exit with status 2 if there is none"
    only.add_argument("--backends", action="store_true", help=backends)
    only.add_argument("--compiler", action="store_true", help=compiler)


def run(options: argparse.Namespace) -> int:
    if options.compiler:
        print(compilers.choose().name)
        return 0
    missing = missing_compilers()
    if not options.backends:
        missing = [*_tell(), *missing]
    for message in missing:
        print(message, file=sys.stderr)
    if options.backends:
        if missing:
            print("the wasm backend is omitted", file=sys.stderr)
        print(",".join(name for name in BACKENDS if name != "wasm" or not missing))
    return 0


def _tell() -> Iterator[str]:
    """Print the installed programs and, except for compilers, the missing ones: any one compiler
    suffices.
    """
    if (url := remote_url()) is not None:
        print(f"browsers start at {VARIABLE}={url}, not on this machine")
    for name in TOOLS:
        try:
            path = find(name)
            print(f"{name}: {path}, version {read_version(name, path)}")
        except ToolError as error:
            if name not in compilers.PROGRAMS:
                yield str(error)
    for line in _judged():
        print(line)


def _judged() -> Iterator[str]:
    """For each compiler, whether it is used, and why."""
    requested, used = compilers.forced(), None
    for name in compilers.COMPILERS:
        found = compilers.usable(name)
        if isinstance(found, str):
            yield f"compiler {name}: cannot be used: {found}"
        elif used is None and requested in {None, name}:
            used = name
            reason = f"{compilers.VARIABLE} asks for it" if requested else "the first that can be"
            yield f"compiler {found}: used, {reason}"
        else:
            reason = (
                f"{compilers.VARIABLE} asks for {requested}" if requested else f"{used} comes first"
            )
            yield f"compiler {found}: not used, {reason}"

"""`webkiln tools`: what this machine has, and which backends can be compiled with it."""

import argparse
import sys

from webkiln.build.graph import COMPILERS, LINKERS
from webkiln.build.tools import TOOLS, find
from webkiln.errors import ToolError
from webkiln.recipe import BACKENDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backends", action="store_true", help="print only the backends that can be compiled here")


def run(options: argparse.Namespace) -> int:
    missing: dict[str, str] = {}
    for name in TOOLS:
        try:
            path = find(name)
        except ToolError as error:
            missing[name] = str(error)
        else:
            if not options.backends:
                print(f"{name}: {path}")
    compilers = {*COMPILERS, *LINKERS} & missing.keys()
    for name, message in missing.items():
        if not options.backends or name in compilers:
            print(message, file=sys.stderr)
    if options.backends:
        if compilers:
            print("the wasm backend is left out", file=sys.stderr)
        print(",".join(name for name in BACKENDS if name != "wasm" or not compilers))
    return 0

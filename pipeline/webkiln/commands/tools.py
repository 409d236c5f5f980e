"""`webkiln tools`: what this machine has with versions, what is missing, and which backends can be compiled."""

import argparse
import sys

from webkiln.backends.remote import VARIABLE, remote_url
from webkiln.build.graph import COMPILERS, LINKERS
from webkiln.build.tools import TOOLS, find, read_version
from webkiln.errors import ToolError
from webkiln.recipe import BACKENDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backends", action="store_true", help="print only the backends that can be compiled here")


def run(options: argparse.Namespace) -> int:
    missing: dict[str, str] = {}
    if not options.backends and (url := remote_url()) is not None:
        print(f"browsers are started at {VARIABLE}={url}, not here")
    for name in TOOLS:
        try:
            path = find(name)
            if not options.backends:
                print(f"{name}: {path}, version {read_version(name, path)}")
        except ToolError as error:
            missing[name] = str(error)
    compilers = {*COMPILERS, *LINKERS} & missing.keys()
    for name, message in missing.items():
        if not options.backends or name in compilers:
            print(message, file=sys.stderr)
    if options.backends:
        if compilers:
            print("the wasm backend is left out", file=sys.stderr)
        print(",".join(name for name in BACKENDS if name != "wasm" or not compilers))
    return 0

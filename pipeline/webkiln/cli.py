"""The command `webkiln`: a table of subcommands, each a module of `webkiln.commands`."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from webkiln.errors import UserError

COMMANDS = {
    "build": "compile a model file to a bundle",
    "diff": "compare a bundle's layers with another backend's, or Keras's, up to the first that differs",
    "explain": "show, layer by layer, the kernels of a bundle and why they were chosen",
    "inspect": "show what is in a model file and what each backend would make of it",
    "run": "run a bundle on the arrays of an .npz file",
    "tools": "show which tools are here and how to get the others",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns 0, 2 for what the user can mend, 1 for a defect of webkiln."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="webkiln", description="Compile trained neural networks to web bundles.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules: dict[str, ModuleType] = {}
    for name, purpose in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=purpose, description=purpose)
        if given[:1] == [name]:
            modules[name] = import_module(f"webkiln.commands.{name}")
            modules[name].add_arguments(subparser)
    options = parser.parse_args(given)
    try:
        return int(modules[options.command].run(options))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001  # the last frame: say that it is our fault, not the user's
        traceback.print_exc()
        print("webkiln failed; please report the lines above", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

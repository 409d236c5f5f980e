"""The command `webkiln`: a table of subcommands, each a module of `webkiln.commands`."""

import argparse
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any, NoReturn

from webkiln.errors import MissingPackageError, UserError, did_you_mean, missing_package

COMMANDS = {
    "build": "compile a model file to a bundle",
    "cache": "show, clean, check and share the caches of results",
    "diff": (
        "compare a bundle's layers with another backend's, or Keras's, up to the first that differs"
    ),
    "explain": "show, layer by layer, the kernels of a bundle and why they were chosen",
    "init": "set a web project up for a model: a recipe, the plugin's line and a working page",
    "inspect": "say what a model file is, what is in it and whether it converts",
    "lower": "print the program that a model becomes on a backend, between any two passes",
    "profile": "time the launches of a bundle: a table, a flame chart, a trace",
    "run": "run a bundle on the arrays of an .npz file",
    "serve": "open a page that runs a bundle on sample inputs",
    "tools": "show which tools are here and how to get the others",
    "tune": "time what may be chosen for a model's kernels and write the fastest into a file",
    "worker": (
        "make this machine a worker of a fleet, which does steps of builds that run elsewhere"
    ),
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors suggest similar names."""

    def options(self) -> list[str]:
        return [text for action in self._actions for text in action.option_strings]

    def error(self, message: str) -> NoReturn:
        if match := re.search(r"argument COMMAND: invalid choice: '([^']*)'", message):
            message = (
                f"unknown command {match[1]!r}; valid:"
                f" {', '.join(COMMANDS)}{did_you_mean(match[1], COMMANDS)}"
            )
        self.print_usage(sys.stderr)
        self.exit(2, f"error: {message}\n")


class Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"webkiln {version('webkiln')}")
        parser.exit()


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand. Returns 0; 2 for an error that the user can fix; 1 for a bug in webkiln."""
    warnings.showwarning = _show_warning
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except UserError as error:
        if isinstance(error, MissingPackageError):
            _install(error)
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001  # reported as a defect of webkiln
        if isinstance(error, ImportError) and (missing := missing_package(error)):
            _install(missing)
            print(f"error: {missing}", file=sys.stderr)
            return 2
        traceback.print_exc()
        print("webkiln failed; please report the lines above", file=sys.stderr)
        return 1


def _install(error: MissingPackageError) -> None:
    from webkiln.build.package_installer import install_and_restart

    install_and_restart([error.module])


def _run(given: Sequence[str]) -> int:
    parser = Parser(
        prog="webkiln",
        description="Compile trained neural networks to web bundles.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="show the version of webkiln")
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    modules: dict[str, ModuleType] = {}
    for name, purpose in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=purpose, description=purpose, allow_abbrev=False
        )
        if given[:1] == [name]:
            modules[name] = import_module(f"webkiln.commands.{name}")
            modules[name].add_arguments(subparser)
    options, unknown = parser.parse_known_args(given)
    if unknown:
        subparser = subparsers.choices[options.command]
        name, equals, _ = unknown[0].partition("=")
        parameter = equals and not name.startswith("-") and "--parameter" in subparser.options()
        advice = (
            f"; did you mean --parameter {unknown[0]}?"
            if parameter
            else did_you_mean(name, subparser.options())
        )
        subparser.error(f"unknown option {unknown[0]!r}{advice}")
    return int(modules[options.command].run(options))


if __name__ == "__main__":
    sys.exit(main())

"""`webkiln worker`: run this machine as a worker of a fleet. If the scheduler is gone, wait for
another at the same address.
"""

import argparse
import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

from webkiln.backends.browsers import BROWSERS
from webkiln.backends.remote import remote_url
from webkiln.build.backends import missing_compilers
from webkiln.build.fleet.address import SCHEMES
from webkiln.build.fleet.remote_action import GIGABYTE
from webkiln.build.fleet.worker import own_cache
from webkiln.build.tools import find, tool_of
from webkiln.errors import RecipeError, ToolError, missing_package

if TYPE_CHECKING:
    from distributed import Worker

CONNECT_SECONDS, AGAIN_SECONDS = 30, 600
"""How long a worker waits for its first scheduler, and for a replacement of a lost one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scheduler", metavar="ADDRESS", help="the scheduler, such as tcp://build.local:8786"
    )
    parser.add_argument(
        "--processors",
        type=int,
        metavar="N",
        help="steps to run at once; default: the number of processors",
    )
    parser.add_argument(
        "--memory", type=float, metavar="GB", help="memory for these steps; default: all memory"
    )
    parser.add_argument("--name", help="this machine's name; default: its address")


def run(options: argparse.Namespace) -> int:
    if not options.scheduler.startswith(SCHEMES):
        raise RecipeError(
            f"{options.scheduler!r} is not the address of a scheduler such as"
            " tcp://build.local:8786"
        )
    shared = own_cache()
    answers, _ = shared.probe()
    shared.close()
    if not answers:
        raise ToolError(f"{shared.address} does not answer; workers read and write there")
    try:
        from distributed.system import MEMORY_LIMIT
    except ImportError as error:
        raise missing_package(error, "webkiln worker") or ToolError(str(error)) from error
    processors = options.processors or os.cpu_count() or 1
    offered = {
        "memory": options.memory or round(MEMORY_LIMIT / GIGABYTE, 1),
        **programs(processors),
    }
    print(
        f"offers {processors} processors,"
        f" {', '.join(f'{amount:g} {name}' for name, amount in offered.items())} to"
        f" {options.scheduler}",
        flush=True,
    )
    try:
        asyncio.run(_work(options.scheduler, processors, offered, options.name))
    except (OSError, TimeoutError) as error:
        raise ToolError(
            f"no scheduler answers at {options.scheduler} ({error}); start one with `dask"
            " scheduler`"
        ) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("stopped", file=sys.stderr)
    return 0


def programs(processors: int) -> dict[str, float]:
    """The installed programs that stages need, and how many of each may run at once. The compiler
    uses all processors.
    """
    found = {} if missing_compilers() else {"compiler": 1.0}
    for name in BROWSERS:
        try:
            if remote_url() is None:
                find(name)
        except ToolError:
            continue
        found[tool_of(name)] = float(processors)
    return found


async def _work(
    scheduler: str, processors: int, offered: dict[str, float], name: str | None
) -> None:
    from distributed import Worker

    loop, stopped, patience = asyncio.get_running_loop(), asyncio.Event(), CONNECT_SECONDS
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    stop = asyncio.ensure_future(stopped.wait())
    while not stopped.is_set():
        worker = Worker(  # memory is limited by the number of steps: stages run in other processes
            scheduler,
            nthreads=processors,
            resources=offered,
            name=name,
            memory_limit=0,
            dashboard=False,
            death_timeout=patience,
        )
        work = asyncio.ensure_future(_served(worker))
        await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        if stopped.is_set():
            await worker.close(reason="stopped")
            work.cancel()
        else:
            await work  # raises the error that prevented the start
            print(f"lost {scheduler}, waits for it", file=sys.stderr, flush=True)
            patience = AGAIN_SECONDS


async def _served(worker: "Worker") -> None:
    await worker
    await worker.finished()

"""Runs a function in a child process that is killed when it enters its n-th system call."""

import ctypes
import os
import signal
from collections.abc import Callable

TRACEME, KILL, SYSCALL, SETOPTIONS = 0, 8, 24, 0x4200
SYSGOOD = 1
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Run `work` in a child. True if it was killed, False if it ended before its `number`-th system
    call.
    """
    child = os.fork()
    if child == 0:
        LIBC.ptrace(TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert LIBC.ptrace(SETOPTIONS, child, None, SYSGOOD) == 0, "this machine does not allow tracing"
    stops = 0
    while True:
        LIBC.ptrace(SYSCALL, child, None, None)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            return False
        if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
            stops += 1
            if stops == 2 * number - 1:  # each call stops at entry and exit
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return True

"""A hostile REAPI server."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.build import hostile
from tests.build.hostile import Objects
from webkiln.build.remote import wire

RPC = (
    "unavailable",
    "internal",
    "not found",
    "denied",
    "exhausted",
    "cancelled",
    "unknown with control characters",
    "no message",
    "cut off",
    "garbage",
    "larger than allowed",
    "digest that is none",
    "stdout elsewhere",
    "fewer bytes",
    "more bytes",
    "other bytes",
    "endless",
    "empty messages",
    "nothing",
)
RPC_SLOW = ("no answer", "slow stream", "stalled stream")


class HostileReapi:
    """A server of the Remote Execution API that serves a table of objects."""

    def __init__(self, choose: Callable[[str, str], str]) -> None:
        import grpc

        self.grpc = grpc
        self.objects: Objects = {}
        self.choose = choose
        self.counts: Counter[str] = Counter()
        self.ended = threading.Event()
        self.server = grpc.server(
            ThreadPoolExecutor(64), options=[("grpc.max_send_message_length", -1)]
        )
        cas, actions = (
            "build.bazel.remote.execution.v2.ContentAddressableStorage",
            "build.bazel.remote.execution.v2.ActionCache",
        )
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        handlers = {
            actions: {
                "GetActionResult": unary(self._get),
                "UpdateActionResult": unary(self._update),
            },
            cas: {"FindMissingBlobs": unary(self._missing)},
            "google.bytestream.ByteStream": {
                "Read": stream(self._read),
                "Write": grpc.stream_unary_rpc_method_handler(self._write),
            },
        }
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(name, table) for name, table in handlers.items()]
        )
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    @property
    def url(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.ended.set()
        self.server.stop(0)

    def _fault(self, method: str, name: str, context: Any) -> str:
        fault = self.choose(method, name)
        self.counts[f"grpc {fault or 'good'}"] += 1
        codes = self.grpc.StatusCode
        failures = {
            "unavailable": codes.UNAVAILABLE,
            "internal": codes.INTERNAL,
            "not found": codes.NOT_FOUND,
            "denied": codes.PERMISSION_DENIED,
            "exhausted": codes.RESOURCE_EXHAUSTED,
            "cancelled": codes.CANCELLED,
            "unknown with control characters": codes.UNKNOWN,
        }
        if fault in failures:
            context.abort(failures[fault], "line\n\x1b[31mline" * 20)
        if fault in RPC_SLOW:
            self.ended.wait(120)
        return fault

    def _odd(self, fault: str, good: bytes) -> bytes:
        answers = {
            "no message": b"\xff\xff\xff\xff",
            "cut off": good[:-1] + b"\x2a",
            "garbage": random.randbytes(100),
            "larger than allowed": bytes(9 << 20),
            "digest that is none": wire.field(2, wire.field(1, b"../../x\n"))
            + wire.field(6, b"\x08\x01"),
            "nothing": b"",
            "stdout elsewhere": wire.field(6, wire.field(1, b"a" * 64) + wire.field(2, 1 << 50)),
            "endless": wire.field(9, b"") * 100_000,
            "empty messages": wire.field(2, b""),
        }
        return answers.get(fault, good)

    def _get(self, request: bytes, context: Any) -> bytes:
        key = wire.values(wire.values(request, 2)[0], 1)[0].decode()
        fault = self._fault("GET", f"ac/{key}", context)
        if f"ac/{key}" not in self.objects and not fault:
            context.abort(self.grpc.StatusCode.NOT_FOUND, "")
        return self._odd(fault, self.objects.get(f"ac/{key}", b""))

    def _update(self, request: bytes, context: Any) -> bytes:
        self._fault("PUT", "ac/", context)
        key = wire.values(wire.values(request, 2)[0], 1)[0].decode()
        self.objects.setdefault(f"ac/{key}", wire.values(request, 3)[0])
        return b""

    def _missing(self, request: bytes, context: Any) -> bytes:
        fault = self._fault("HEAD", "cas/", context)
        digests = [
            digest
            for digest in wire.values(request, 2)
            if f"cas/{wire.values(digest, 1)[0].decode()}" not in self.objects
        ]
        return self._odd(fault, b"".join(wire.field(2, digest) for digest in digests))

    def _read(self, request: bytes, context: Any) -> Iterator[bytes]:
        name = wire.values(request, 1)[0].decode().split("/")[-2]
        data, start = self.objects.get(f"cas/{name}"), wire.integer(request, 2)
        fault = self.choose("GET", f"cas/{name}")
        if fault in ("slow stream", "stalled stream"):
            self.counts[f"grpc {fault}"] += 1
            for byte in b"0123456789" * 10:
                yield wire.field(10, bytes([byte]))
                self.ended.wait(hostile.DRIP_SECONDS if fault == "slow stream" else 120)
            return
        fault = self._fault("GET", f"cas/{name}", context)
        if data is None:
            context.abort(self.grpc.StatusCode.NOT_FOUND, "")
            return
        if fault in ("endless", "empty messages"):
            for _ in range(2000):
                yield wire.field(10, bytes(1000)) if fault == "endless" else b""
            return
        altered = {
            "fewer bytes": data[: len(data) // 2],
            "more bytes": data + b"more",
            "other bytes": bytes(len(data)),
        }
        payload = altered.get(fault, data)[start:]
        yield self._odd(fault, wire.field(10, payload))

    def _write(self, requests: Iterator[bytes], context: Any) -> bytes:
        fault = self._fault("PUT", "cas/", context)
        parts = list(requests)
        data = b"".join(part for request in parts for part in wire.values(request, 10))
        name = wire.values(parts[0], 1)[0].decode().split("/")[-2]
        if not fault:
            self.objects.setdefault(f"cas/{name}", data)
        return self._odd(fault, wire.field(1, len(data)))

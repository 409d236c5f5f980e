"""Signatures of entries: HMAC-SHA-256 (RFC 2104) by a secret that all share, or Ed25519 (RFC 8032), of which those who only read have the public key.

`$WEBKILN_CACHE_KEY` is `hmac:<file>` or `ed25519:<file>`: a file of at least 32 bytes, or a PEM file of a private or a public key.
"""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError, ToolError

VARIABLE = "WEBKILN_CACHE_KEY"
LEAST_BYTES = 32
HELP = f"{VARIABLE} is hmac:FILE, with a file of {LEAST_BYTES} bytes or more (head -c 32 /dev/urandom > FILE), or ed25519:FILE, with a key in PEM (openssl genpkey -algorithm ed25519 -out FILE)"


@dataclass(frozen=True, slots=True)
class Signer:
    """`sign` is None for those who only check."""

    algorithm: str
    check: Callable[[bytes, bytes], bool]
    sign: Callable[[bytes], bytes] | None

    def signature(self, body: bytes) -> dict[str, str]:
        """What an entry carries."""
        assert self.sign is not None
        return {"algorithm": self.algorithm, "value": self.sign(body).hex()}

    def accepts(self, body: bytes, signature: Any) -> bool:
        """Whether a signature, which anybody may have written, is one of these bytes."""
        try:
            return signature["algorithm"] == self.algorithm and self.check(body, bytes.fromhex(signature["value"]))
        except (KeyError, TypeError, ValueError):
            return False


def signer(text: str) -> Signer:
    """Raises RecipeError where the variable or its file is not what it should be."""
    algorithm, _, place = text.partition(":")
    if algorithm not in MAKERS or not place:
        raise RecipeError(f"{VARIABLE} is {text!r}, expected a key by its file. {HELP}")
    try:
        data = Path(place).expanduser().read_bytes()
    except OSError as error:
        raise RecipeError(f"{VARIABLE}: {place}: cannot be read: {error.strerror}. {HELP}") from error
    return MAKERS[algorithm](data, place)


def _hmac(data: bytes, place: str) -> Signer:
    if len(data) < LEAST_BYTES:
        raise RecipeError(f"{VARIABLE}: {place} has {len(data)} bytes, expected at least {LEAST_BYTES}. {HELP}")

    def sign(body: bytes) -> bytes:
        return hmac.digest(data, body, hashlib.sha256)

    return Signer("hmac-sha256", lambda body, value: hmac.compare_digest(sign(body), value), sign)


def _ed25519(data: bytes, place: str) -> Signer:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    except ImportError as error:
        raise ToolError(f"{VARIABLE}: Ed25519 needs the package cryptography; pip install 'webkiln[remote]', or use hmac:FILE") from error
    private = b"PRIVATE KEY" in data
    try:
        read = serialization.load_pem_private_key(data, None) if private else serialization.load_pem_public_key(data)
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{VARIABLE}: {place} is no key in PEM: {error}. {HELP}") from error
    if not isinstance(read, Ed25519PrivateKey | Ed25519PublicKey):
        raise RecipeError(f"{VARIABLE}: {place} is a key of another kind ({type(read).__name__}). {HELP}")
    public = read.public_key() if isinstance(read, Ed25519PrivateKey) else read

    def check(body: bytes, value: bytes) -> bool:
        try:
            public.verify(value, body)
        except InvalidSignature:
            return False
        return True

    return Signer("ed25519", check, read.sign if isinstance(read, Ed25519PrivateKey) else None)


MAKERS: dict[str, Callable[[bytes, str], Signer]] = {"hmac": _hmac, "ed25519": _ed25519}

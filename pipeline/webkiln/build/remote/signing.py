"""Signatures of entries: HMAC-SHA-256 (RFC 2104) with a shared secret, or Ed25519 (RFC 8032), where
read-only users have the public key.

`$WEBKILN_CACHE_KEY` is `hmac:<file>` or `ed25519:<file>`: a file of at least 32 bytes, or a PEM
file of a private or a public key.
"""

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webkiln.errors import MissingPackageError, RecipeError

VARIABLE = "WEBKILN_CACHE_KEY"
LEAST_BYTES = 32
ID_DIGITS = 32
HELP = (
    f"{VARIABLE} is hmac:FILE, with a file of {LEAST_BYTES} bytes or more (head -c 32 /dev/urandom"
    " > FILE), or ed25519:FILE, with a key in PEM (openssl genpkey -algorithm ed25519 -out FILE)"
)


@dataclass(frozen=True, slots=True)
class Signer:
    """A key. `key_id` identifies it without revealing a secret. `sign` is None for a public key."""

    algorithm: str
    key_id: str
    check: Callable[[bytes, bytes], bool]
    sign: Callable[[bytes], bytes] | None


def signer_from_environment() -> Signer | None:
    """The key that `$WEBKILN_CACHE_KEY` names, if it is set. Raises RecipeError where it is
    invalid.
    """
    text = os.environ.get(VARIABLE, "")
    return signer(text) if text else None


def signer(text: str) -> Signer:
    """The key in the file that the variable names. Raises RecipeError where either is invalid."""
    algorithm, _, file = text.partition(":")
    if algorithm not in MAKERS or not file:
        raise RecipeError(f"{VARIABLE} is {text!r}, expected the file of a key. {HELP}")
    try:
        data = Path(file).expanduser().read_bytes()
    except OSError as error:
        raise RecipeError(
            f"{VARIABLE}: {file}: cannot be read: {error.strerror}. {HELP}"
        ) from error
    return MAKERS[algorithm](data, file)


def _hmac(data: bytes, file: str) -> Signer:
    if len(data) < LEAST_BYTES:
        raise RecipeError(
            f"{VARIABLE}: {file} has {len(data)} bytes, expected at least {LEAST_BYTES}. {HELP}"
        )

    def sign(body: bytes) -> bytes:
        return hmac.digest(data, body, hashlib.sha256)

    key_id = f"hmac-sha256:{sign(b'webkiln key ID').hex()[:ID_DIGITS]}"
    return Signer(
        "hmac-sha256", key_id, lambda body, value: hmac.compare_digest(sign(body), value), sign
    )


def _ed25519(data: bytes, file: str) -> Signer:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PrivateKey,
            Ed25519PublicKey,
        )
    except ImportError as error:
        raise MissingPackageError(
            f"{VARIABLE}: Ed25519 needs the package cryptography; pip install 'webkiln[remote]', or"
            " use hmac:FILE",
            "cryptography",
        ) from error
    private = b"PRIVATE KEY" in data
    try:
        read = (
            serialization.load_pem_private_key(data, None)
            if private
            else serialization.load_pem_public_key(data)
        )
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{VARIABLE}: {file} is not a key in PEM: {error}. {HELP}") from error
    if not isinstance(read, Ed25519PrivateKey | Ed25519PublicKey):
        raise RecipeError(
            f"{VARIABLE}: {file} is not an Ed25519 key ({type(read).__name__}). {HELP}"
        )
    public = read.public_key() if isinstance(read, Ed25519PrivateKey) else read

    def check(body: bytes, value: bytes) -> bool:
        try:
            public.verify(value, body)
        except InvalidSignature:
            return False
        return True

    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    key_id = f"ed25519:{hashlib.sha256(raw).hexdigest()[:ID_DIGITS]}"
    return Signer(
        "ed25519", key_id, check, read.sign if isinstance(read, Ed25519PrivateKey) else None
    )


MAKERS: dict[str, Callable[[bytes, str], Signer]] = {"hmac": _hmac, "ed25519": _ed25519}

"""Signers of cache entries."""

from pathlib import Path

from webkiln.build.remote.signing import Signer, signer


def hmac_signer(folder: Path, letter: str) -> Signer:
    """A signer with a secret of 32 equal letters."""
    path = folder / f"secret-{letter}"
    path.write_bytes(letter.encode() * 32)
    return signer(f"hmac:{path}")

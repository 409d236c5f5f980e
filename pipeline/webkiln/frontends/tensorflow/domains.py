"""The domain of an operator in the spec. Operators on complex numbers have their own domain."""

from collections.abc import Mapping
from typing import Any

COMPLEX_DOMAIN = "complex"
COMPLEX_DTYPES = frozenset({"complex64", "complex128"})
ALWAYS_COMPLEX = frozenset(
    {
        "FFT",
        "FFT2D",
        "FFT3D",
        "IFFT",
        "IFFT2D",
        "IFFT3D",
        "RFFT",
        "RFFT2D",
        "RFFT3D",
        "IRFFT",
        "IRFFT2D",
        "IRFFT3D",
        "Complex",
        "Real",
        "Imag",
        "Angle",
        "Conj",
        "ComplexAbs",
    }
)
"""Operators on complex numbers, whatever their attributes."""


def domain_of(op: str, attrs: Mapping[str, Any]) -> str:
    """The domain of an operator in the spec. Operators on complex numbers have their own domain."""
    return (
        COMPLEX_DOMAIN
        if op in ALWAYS_COMPLEX or not COMPLEX_DTYPES.isdisjoint(map(str, attrs.values()))
        else ""
    )

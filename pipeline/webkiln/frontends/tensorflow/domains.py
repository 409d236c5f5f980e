"""In which domain of the spec an operator is: those that take or give complex numbers have one of
their own.
"""

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
"""Operators that take or give complex numbers whatever their attributes say."""


def domain_of(op: str, attrs: Mapping[str, Any]) -> str:
    """The domain of an operator in the spec: operators of complex numbers have their own."""
    return (
        COMPLEX_DOMAIN
        if op in ALWAYS_COMPLEX or not COMPLEX_DTYPES.isdisjoint(map(str, attrs.values()))
        else ""
    )

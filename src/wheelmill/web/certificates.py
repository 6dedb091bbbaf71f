"""Certificates of servers that this machine does not trust, and what to do about them."""

from __future__ import annotations

from ssl import SSLCertVerificationError
from typing import Final

TRUST_ADVICE: Final = (
    "SSL_CERT_FILE=FILE names the authorities to trust (for uv also UV_SYSTEM_CERTS=1, for pip also PIP_CERT=FILE)"
)
"""Behind a company's proxy, which signs for every server itself, nobody else knows its authority."""

_UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for that; others are of a certificate that is too old, or another host's.

https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/
"""


def certificate_refusal(error: BaseException) -> str | None:
    """Why the certificate of a server was refused, and what to do; None for an error with another cause."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if not isinstance(cause, SSLCertVerificationError):
        return None
    advice = f"; {TRUST_ADVICE}" if cause.verify_code in _UNKNOWN_AUTHORITY else ""
    return f"its certificate is not trusted: {cause.verify_message.rstrip('.')}{advice}"

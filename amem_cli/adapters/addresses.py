"""Which addresses mean this machine, and which may be asked without encryption."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from amem_cli.core.errors import UsageError


def is_loopback(host: str) -> bool:
    """True where a host name or address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of an address, without a port; empty where it cannot be read."""
    try:
        return urlsplit(url.strip()).hostname or ""
    except ValueError:
        return ""


def check_fetchable(url: str) -> None:
    """Make sure that an address is encrypted, or of this machine.

    Raises:
        UsageError: it is not, cannot be read, or holds a name and password.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError("the address cannot be read", hint="Copy it whole.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("the address is no https address", hint="Copy it whole.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of {host} holds a name or password", hint="Leave it out.")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(f"{host} would be asked without encryption", hint="Use its https address.")

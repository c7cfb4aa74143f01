"""Where the key of a model's server comes from: the environment, else the system's keyring."""

from __future__ import annotations

from collections.abc import Mapping

API_KEY_VARIABLES = ("AMEM_API_KEY", "OPENAI_API_KEY")
KEYRING_SERVICE = "amem"


def api_key_for(host: str, environment: Mapping[str, str]) -> str | None:
    """The key for a server, or None where the user has none.

    The keyring is asked only where the optional package `keyring` is installed; a key is put there
    by `keyring set amem HOST`.

    Args:
        host: the server's host, without a port.
    """
    for name in API_KEY_VARIABLES:
        if environment.get(name):
            return environment[name]
    return _from_keyring(host)


def _from_keyring(host: str) -> str | None:
    try:
        import keyring
    except ImportError:
        return None
    try:
        found = keyring.get_password(KEYRING_SERVICE, host)
    # Backends raise errors of their own and of the system's; all mean that no key is to be had.
    except Exception:
        return None
    return str(found) if found else None

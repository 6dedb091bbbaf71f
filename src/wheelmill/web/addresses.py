"""Inner addresses, such as loopback, a company's network and a cloud's metadata: no public server leads there.

The address of the connection counts, as a name may resolve to another one each time. A proxy resolves names itself;
behind one, only hosts that are addresses in some form can be refused.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

import httpx

from wheelmill.errors import NetworkError

_UNICAST: Final = IPv6Network("2000::/3")
"""https://www.iana.org/assignments/ipv6-address-space"""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""IPv4 addresses to clients that have only IPv6 (RFC 6052)."""


def is_global(text: str) -> bool:
    """True if an address is one of the public network, also where it holds an IPv4 address."""
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped or address in _TRANSLATED:
            address = IPv4Address(int(address) & 0xFFFF_FFFF)
        elif address.sixtofour:
            address = address.sixtofour
        elif address not in _UNICAST:
            return False
    return address.is_global and not address.is_multicast


def _is_inner(host: str) -> bool:
    """True if a host is itself an inner address, in any form that resolvers read: ``0x7f.1``, ``2130706433``."""
    name = host.rstrip(".").lower()
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return f".{name}".endswith(".localhost")
    return not all(is_global(str(address[0])) for *_, address in found)


class Addresses:
    """Addresses that the servers of a client were reached at; threads may share it."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, bool]] = set()
        """Hosts, and whether they were reached at a global address."""

    def guard(self, url: httpx.URL, leader: httpx.URL | None) -> Callable[[str, Mapping[str, Any]], None]:
        """Return a watch over the connection for a URL, or raise NetworkError if its host is known to be inner.

        https://www.encode.io/httpcore/extensions/#trace

        `leader` is the page or redirect that leads there, None if the user does. If it is inner, it may lead anywhere.
        """
        host, connecting = url.raw_host.decode(), ""  # as connections name it
        origin = leader.raw_host.decode() if leader else host
        is_public = (origin, True) in self._seen or not ((origin, False) in self._seen or _is_inner(origin))
        is_free = leader is None or not is_public or (origin == host and (host, True) not in self._seen)

        def refuse(name: str) -> NetworkError:
            message = f"{origin} leads to {name}, which is not an address of the public network"
            return NetworkError("address-inner", message, hint="name the URL of that server itself, if it is meant")

        def trace(event: str, info: Mapping[str, Any]) -> None:
            nonlocal connecting
            if event == "connection.connect_tcp.started":
                connecting = info["host"]
            elif event == "connection.connect_tcp.complete" and connecting == host:  # else it is a proxy
                peer = info["return_value"].get_extra_info("server_addr")[0]
                self._seen.add((host, is_global(peer)))
                if not (is_free or is_global(peer)):
                    info["return_value"].close()
                    raise refuse(f"{host} at {peer}")

        if not is_free and (_is_inner(host) or (host, False) in self._seen):
            raise refuse(host)
        return trace

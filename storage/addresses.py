"""Which addresses lie on the public internet, for hosts that a tenant names.

What a tenant may name must not reach what only this machine, its network or its cloud can reach.
"""

from __future__ import annotations

import ipaddress

#: The IPv6 addresses that are routed between networks; whatever lies elsewhere is none of them,
#: or stands for an IPv4 address of any kind.
_UNICAST = ipaddress.ip_network("2000::/3")
#: Within the public ranges, and yet not on the public internet: protocol assignments, among them a
#: cloud's metadata (192.0.0.192), the relay of 6to4, a cloud's service for its own machines,
#: documentation.
_INSIDE = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20"))
)
#: Names that are given out by no registry, but by a machine, a router or a cluster.
_LOCAL = frozenset({"localhost", "local", "internal", "localdomain", "lan", "intranet", "svc"})


def is_public(text: str) -> bool:
    """Whether an IP address is a public unicast one; False for what is no address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        # an address with a zone is of one link
        if address.sixtofour is not None or address.teredo is not None or address.scope_id:
            return False
        if address not in _UNICAST:
            return False
    inside = any(address in network for network in _INSIDE)
    return address.is_global and not address.is_multicast and not inside


def names_private(host: str) -> bool:
    """Whether a host is private by the very look of it: an address that is not public, or a name
    that never is. Any other name says what it is when it is resolved.
    """
    name = host.rstrip(".").lower()
    try:
        ipaddress.ip_address(name)
    except ValueError:
        # a number in an old notation (127.1, 0x7f000001, 2130706433) is an address to some
        last = name.rpartition(".")[2]
        local = last in _LOCAL or name.endswith(".home.arpa")
        return local or "." not in name or last[:1].isdigit()
    return not is_public(name)

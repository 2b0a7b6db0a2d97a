"""Which addresses lie on the public internet, for hosts that a tenant names.

What a tenant may name must not reach what only this machine, its network or its cloud can reach.
"""

from __future__ import annotations

import ipaddress

#: Translates into IPv4 addresses of any kind (RFC 6052).
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Whether an IP address is a public unicast one; False for what is no address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(str(address.ipv4_mapped))
        if address.sixtofour is not None or address.teredo is not None or address in _TRANSLATED:
            return False
    return address.is_global and not address.is_multicast


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
        local = name == "localhost" or last in ("localhost", "local", "internal")
        return local or "." not in name or last[:1].isdigit()
    return not is_public(name)

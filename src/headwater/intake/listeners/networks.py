"""The addresses that events may be sent to: public ones, and those of networks that the settings name.

Otherwise an admin could make the server talk to services that trust it for its place in the network (server-side request forgery): cloud metadata,
databases, other programs on the machine.
"""

import ipaddress
import socket
from collections.abc import Iterator

import msgspec

from headwater.errors import InvalidQuestion
from headwater.store.people.secrets import SecretKey

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Networks:
    """`allowed`: networks besides the public ones, separated by commas. Raises ValueError for a text that is none."""

    def __init__(self, allowed: str = "") -> None:
        self._allowed = [
            ipaddress.ip_network(part.strip(), strict=False) for part in allowed.split(",") if part.strip()
        ]

    def resolve(self, host: str, port: int) -> list[str]:
        """The host's addresses, in the resolver's order. Raises OSError if it has none, InvalidQuestion if one of them is not allowed."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for text in addresses:
            address = ipaddress.ip_address(text.partition("%")[0])
            if not self.allows(address):
                which = host if host == text else f"{host} ({text})"
                raise InvalidQuestion(
                    f"{which} is an address inside of a network, and events are sent to public addresses only. If you mean it, "
                    "add its network to HEADWATER_LISTENERS__ALLOWED_NETWORKS",
                    address=text,
                )
        return addresses

    def allows(self, address: Address) -> bool:
        """Return whether events may be sent to the address. An IPv6 address that stands for an IPv4 address is judged by that one, too."""
        if any(address in network for network in self._allowed):
            return True
        inner = list(_embedded(address))
        if not inner:
            return _is_public(address)
        return all(self.allows(each) for each in inner)


# Not public, although some versions of Python say so: protocol assignments (Oracle Cloud's metadata is 192.0.0.192), 6to4 relays, site-local
# addresses, documentation; and the address at which Azure answers its machines.
_INSIDE = [
    ipaddress.ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20", "64:ff9b:1::/48", "168.63.129.16/32")
]


def _is_public(address: Address) -> bool:
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return address.is_global and not any(address in network for network in _INSIDE)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def _embedded(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that packets to an IPv6 address may reach: mapped, NAT64, 6to4, Teredo, ISATAP, or compatible ones."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo
    elif (
        address in _NAT64
        or (int(address) >> 32) & 0xFCFFFFFF == 0x5EFE
        or (int(address) >> 32 == 0 and int(address) > 1)
    ):
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


class Outbound(msgspec.Struct, frozen=True):
    """The needs of deliveries from the server: the key of listeners' secrets, and the networks they may enter."""

    key: SecretKey
    networks: Networks

"""The networks that events may be sent to."""

import ipaddress
import socket
from typing import Any

import pytest

from headwater.errors import InvalidQuestion
from headwater.intake.listeners.networks import Networks

PUBLIC = [
    "93.184.216.34",
    "8.8.8.8",
    "2606:2800:220:1:248:1893:25c8:1946",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
    "2606:4700::5efe:808:808",
]
INSIDE = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "::7f00:1", "2001:db8::1",
    "192.0.0.192", "192.88.99.1", "168.63.129.16", "::ffff:168.63.129.16", "fec0::1", "3fff::1", "64:ff9b:1::7f00:1", "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:a9fe:a9fe",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    assert Networks().allows(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_of_a_network(address: str) -> None:
    assert not Networks().allows(ipaddress.ip_address(address))
    assert Networks(f"192.0.2.128/25, {address}").allows(ipaddress.ip_address(address))


def test_a_network_allows_what_is_in_it_alone() -> None:
    networks = Networks("10.1.0.0/16,fd00::/8")
    for address, allowed in (
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("10.2.0.1", False),
        ("fd00::1", True),
        ("fc00::1", False),
    ):
        assert networks.allows(ipaddress.ip_address(address)) is allowed, address


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "ip6-localhost",
        "①②⑦.0.0.1",
        "0x7f.1",
        "fe80::1%lo",
    ],
)
def test_names_and_spellings_of_this_machine(host: str) -> None:
    with pytest.raises((InvalidQuestion, OSError)):
        Networks().resolve(host.strip("[]"), 80)


def test_one_address_of_several_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: Any, **__: Any) -> Any:
        return [(2, 1, 6, "", (address, 80)) for address in ("8.8.8.8", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(InvalidQuestion, match=r"\(10\.0\.0\.1\).*HEADWATER_LISTENERS__ALLOWED_NETWORKS"):
        Networks().resolve("rebound.example", 80)


@pytest.mark.parametrize("text", ["nonsense", "10.0.0.0/33", "10.0.0.0/8;::1"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="IPv4 or IPv6 network"):
        Networks(text)

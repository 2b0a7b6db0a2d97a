"""Which addresses and hosts a tenant may name."""

import pytest

from storage.addresses import is_public, names_private


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111"])
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)
    assert not names_private(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.7",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:0:53aa:64c:0:0:80ff:fffe",
        # IPv4 in forms that only some systems translate, and what is no global unicast
        "::7f00:1",
        "::ffff:0:7f00:1",
        "64:ff9b:1::7f00:1",
        "fec0::1",
        "4000::1",
        "5f00::1",
        "3fff::1",
        "192.0.0.8",
        "192.88.99.1",
        # what clouds tell their machines at
        "192.0.0.192",
        "168.63.129.16",
        "1.1.1.1%eth0",
        "example.org",
        "",
    ],
)
def test_any_other_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST.",
        "db.localhost",
        "printer.local",
        "metadata.google.internal",
        "redis",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "::1",
        "169.254.169.254",
        "nas.lan",
        "nas.home.arpa",
        "wiki.intranet",
        "host.localdomain",
        "kubernetes.default.svc",
        "",
    ],
)
def test_some_hosts_are_private_by_their_look(host: str) -> None:
    assert names_private(host)


@pytest.mark.parametrize("host", ["api.openai.com", "models.test", "1.1.1.1", "a.internal.example"])
def test_other_hosts_say_what_they_are_when_they_are_resolved(host: str) -> None:
    assert not names_private(host)

"""URLs and addresses that may be fetched."""

from __future__ import annotations

import ipaddress

import pytest

from tools.web.addresses import AddressPolicy, BlockedAddress, is_public, parse_url, written_host


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://Docs.Python.org/3/?q=a b#x".replace(" ", "+"), "https://docs.python.org/3/?q=a+b"),
        ("http://example.com:80", "http://example.com/"),
        ("https://example.com:8443/a%20b", "https://example.com:8443/a%20b"),
        ("https://example.com./", "https://example.com/"),
        ("https://münchen.de/straße?ü=1", "https://xn--mnchen-3ya.de/stra%C3%9Fe?%C3%BC=1"),
        ("http://[2606:4700::1111]:8080/x", "http://[2606:4700::1111]:8080/x"),
    ],
)
def test_url_is_normalized(text: str, url: str) -> None:
    assert str(parse_url(text)) == url


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "javascript:alert(1)",
        "data:text/html,x",
        "example.com",
        "https:///path",
        "https://user:secret@example.com/",
        "https://user@example.com/",
        "https://example.com\\@evil.net/",
        "https://exam ple.com/",
        "https://example.com/\x1b[31m",
        "https://example.com/\nx",
        "https://example..com/",
        "https://example.com:99999/",
        "https://[::1",
        "https://example.com/" + "x" * 5000,
    ],
)
def test_url_that_is_not_one_of_a_public_page_is_refused(text: str) -> None:
    with pytest.raises(BlockedAddress):
        parse_url(text)


def test_international_host_is_shown_in_its_own_letters() -> None:
    url = parse_url("https://аррӏе.com/")

    assert url.host == "xn--80ak6aa92e.com"
    assert written_host(url.host) == "аррӏе.com"
    assert written_host("apple.com") == ""


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:808:808::1",
        "2001:0:4136:e378::1",
        "2001:db8::1",
    ],
)
def test_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::8.8.8.8"])
def test_public_address_is_allowed(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "api.localhost",
        "printer.local",
        "metadata.google.internal",
        "router",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "127.0.0.1",
        "::1",
        "169.254.169.254",
    ],
)
def test_private_name_is_refused_before_it_is_resolved(host: str) -> None:
    with pytest.raises(BlockedAddress, match=r"web\.allow_private"):
        AddressPolicy().check_name(host)


@pytest.mark.parametrize(
    ("allowed", "host"),
    [
        ("*", "localhost"),
        ("localhost", "localhost"),
        ("*.corp.internal", "git.corp.internal"),
        ("10.0.0.0/8", "10.2.3.4"),
    ],
)
def test_user_can_allow_private_hosts(allowed: str, host: str) -> None:
    AddressPolicy((allowed,)).check_name(host)


@pytest.mark.parametrize(("allowed", "host"), [("corp.internal", "git.corp.internal"), ("10.0.0.0/8", "192.168.0.1")])
def test_allowing_one_private_host_allows_no_other(allowed: str, host: str) -> None:
    with pytest.raises(BlockedAddress):
        AddressPolicy((allowed,)).check_name(host)

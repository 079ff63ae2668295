"""Whom we believe over TLS, spoken to over real TLS."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.asking import Asker, Serve
from fakes.authorities import Authority
from fakes.model_server import Reply
from fakes.relays import Relay

from harness.deltas import Done
from harness.errors import RequestRejected
from http_client.tls import CLIENT_CERTIFICATE, CLIENT_KEY, VARIABLES, ssl_context
from providers import connect

CASES = [
    pytest.param(each, marks=pytest.mark.requires_program("openssl")) if each == "SSL_CERT_DIR" else each
    for each in VARIABLES
]
Behind = Callable[[ssl.SSLContext], str]
"""Starts a model server behind TLS; its base URL."""


@pytest.fixture(autouse=True)
def nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, CLIENT_CERTIFICATE, CLIENT_KEY):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def behind(serve: Serve) -> Iterator[Behind]:
    relays: list[Relay] = []

    def start(context: ssl.SSLContext) -> str:
        relays.append(Relay(serve([Reply("Hi"), Reply("Hi")]).port, tls=context).__enter__())
        return f"https://localhost:{relays[-1].port}"

    yield start
    for relay in relays:
        relay.__exit__()


async def said_by(url: str, ask: Asker) -> object:
    model = connect("anthropic/x", base_url=url)
    try:
        return (await ask(model))[-1]
    finally:
        await model.provider.close()


@pytest.mark.parametrize("variable", CASES)
async def test_an_authority_named_in_a_usual_variable_is_trusted(
    variable: str, authority: Authority, behind: Behind, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = hashed(authority.file).parent if variable == "SSL_CERT_DIR" else authority.file
    monkeypatch.setenv(variable, str(named))

    last = await said_by(behind(authority.server("localhost")), ask)

    assert isinstance(last, Done)


def hashed(file: Path) -> Path:
    """The file under the name by which OpenSSL looks for it."""
    reported = subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", file], capture_output=True, text=True, check=True
    )
    folder = file.parent / "authorities"
    folder.mkdir()
    return file.rename(folder / f"{reported.stdout.strip()}.0")


@pytest.mark.parametrize("variable", VARIABLES)
def test_named_certificates_are_trusted_in_addition_to_the_usual(variable: str, authority: Authority) -> None:
    usual = ssl_context({}).cert_store_stats()["x509_ca"]

    named = ssl_context({variable: str(authority.file)}).cert_store_stats()["x509_ca"]

    assert usual > 100
    assert named == usual + 1


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR"])
async def test_a_named_authority_is_trusted_with_the_system_trust_store(
    variable: str, authority: Authority, behind: Behind, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("http_client.pool.ssl_context", lambda environment: ssl_context(environment, "darwin"))
    monkeypatch.setenv(variable, str(authority.file.parent if variable == "SSL_CERT_DIR" else authority.file))

    last = await said_by(behind(authority.server("localhost")), ask)

    assert isinstance(last, Done)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
async def test_an_unknown_authority_is_named_with_what_to_do(
    platform: str, authority: Authority, behind: Behind, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("http_client.pool.ssl_context", lambda environment: ssl_context(environment, platform))
    url = behind(authority.server("localhost"))

    with pytest.raises(RequestRejected) as caught:
        await said_by(url, ask)

    who = (
        "was issued by 'Acme Inspection', an authority that this machine does not trust"
        if platform == "linux"
        else "is not trusted"
    )
    assert str(caught.value).startswith(f"the certificate of {url} {who} (")
    assert "set SSL_CERT_FILE to its certificate in PEM format" in str(caught.value)
    assert not caught.value.retryable


async def test_an_expired_certificate_is_reported(
    authority: Authority, behind: Behind, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    with pytest.raises(RequestRejected, match="has expired; check the clock"):
        await said_by(behind(authority.server("localhost", expired=True)), ask)


async def test_a_certificate_for_another_host_is_reported(
    authority: Authority, behind: Behind, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    with pytest.raises(RequestRejected, match=r"is for another host: .*'localhost'.* Check the base URL\."):
        await said_by(behind(authority.server("other.example")), ask)


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_file_that_is_not_there_is_reported_with_its_variable(variable: str, tmp_path: Path) -> None:
    missing = tmp_path / "gone.pem"

    with pytest.raises(RequestRejected) as caught:
        ssl_context({variable: str(missing)})

    assert str(caught.value) == f"{variable} names {missing}, which does not exist"


def test_a_file_that_holds_no_certificate_is_reported_with_its_variable(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no certificate")

    with pytest.raises(RequestRejected) as caught:
        ssl_context({"CURL_CA_BUNDLE": str(other)})

    assert str(caught.value) == f"CURL_CA_BUNDLE names {other}, which contains no certificates in PEM format"


async def test_a_gateway_that_requires_a_certificate_gets_the_client_certificate(
    authority: Authority, behind: Behind, ask: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, key = authority.client(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setenv(CLIENT_CERTIFICATE, str(certificate))
    monkeypatch.setenv(CLIENT_KEY, str(key))

    last = await said_by(behind(authority.server("localhost", asks_back=True)), ask)

    assert isinstance(last, Done)


@pytest.mark.parametrize(
    ("certificate", "key", "blamed"), [("gone", "", CLIENT_CERTIFICATE), ("there", "gone", CLIENT_KEY)]
)
def test_a_missing_client_certificate_is_reported(
    authority: Authority, tmp_path: Path, certificate: str, key: str, blamed: str
) -> None:
    authority.file.rename(tmp_path / "there")
    named = {CLIENT_CERTIFICATE: str(tmp_path / certificate), CLIENT_KEY: str(tmp_path / key) if key else ""}

    with pytest.raises(RequestRejected, match=f"{blamed} names .*gone, which does not exist"):
        ssl_context(named)


def test_a_client_certificate_without_its_key_is_reported(authority: Authority) -> None:
    with pytest.raises(RequestRejected, match="a certificate and its key"):
        ssl_context({CLIENT_CERTIFICATE: str(authority.file)})


def test_companies_authorities_need_not_keep_to_the_newest_rules() -> None:
    assert not ssl_context({}).verify_flags & ssl.VERIFY_X509_STRICT

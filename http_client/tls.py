"""TLS certificates: trusted authorities of the system, of certifi and of the user; explanations of rejected
certificates."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Protocol

from harness.errors import RequestRejected
from http_client.text import plain

VARIABLES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
)
"""Variables set for other programs. Each names authorities that are trusted in addition to the others."""

CLIENT_CERTIFICATE, CLIENT_KEY = "CINCH_CLIENT_CERT", "CINCH_CLIENT_KEY"

BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Authorities of common systems: a Python built elsewhere looks in other places."""

# OpenSSL's verification errors.
NOT_YET_VALID, EXPIRED, OTHER_NAME, OTHER_ADDRESS = 9, 10, 62, 64


def ssl_context(environment: Mapping[str, str], platform: str = sys.platform) -> ssl.SSLContext:
    """Return the context that verifies certificates.

    Raises:
        RequestRejected: A variable names an unusable file.
    """
    is_native = platform in ("darwin", "win32")
    context = _system_context() if is_native else _openssl_context()
    for variable, path in _named(environment):
        # The system's verifier does not support folders.
        for place in _files_in(path) if is_native and path.is_dir() else [path]:
            _add(context, variable, place)
    _load_client_certificate(context, environment)
    return context


def unused_context() -> ssl.SSLContext:
    """Return a context for connections without TLS: loading the authorities takes 40 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _system_context() -> ssl.SSLContext:
    # Only macOS and Windows keep their authorities where OpenSSL cannot read them.
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _openssl_context() -> ssl.SSLContext:
    import certifi

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = _Handshake
    # Company authorities often lack extensions that Python 3.13 requires; often only the intermediate one is there.
    context.verify_flags = context.verify_flags & ~ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(certifi.where())
    folder = ssl.get_default_verify_paths().openssl_capath
    if Path(folder).is_dir():
        context.load_verify_locations(capath=folder)
    if bundle := _system_bundle():
        context.load_verify_locations(bundle)
    return context


def _system_bundle() -> Path | None:
    usual = ssl.get_default_verify_paths().openssl_cafile
    return next((path for path in map(Path, (usual, *BUNDLES)) if path.is_file()), None)


def _named(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield each file once: several variables often name the same one."""
    seen = {_system_bundle()}
    for variable in VARIABLES:
        value = environment.get(variable, "").strip()
        for name in value.split(os.pathsep) if variable == "SSL_CERT_DIR" else [value]:
            path = Path(name)
            if name and path not in seen:
                seen.add(path)
                yield variable, path


def _files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in (".pem", ".crt", ".cer", ".0"))


def _add(context: ssl.SSLContext, variable: str, path: Path) -> None:
    try:
        if path.is_dir():
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise RequestRejected(f"{variable} names {path}, which contains no certificates in PEM format") from error
    except OSError as error:
        raise RequestRejected(_unreadable(variable, path, error)) from error


def _load_client_certificate(context: ssl.SSLContext, environment: Mapping[str, str]) -> None:
    certificate, key = environment.get(CLIENT_CERTIFICATE, ""), environment.get(CLIENT_KEY, "")
    if not certificate:
        return
    try:
        # Without a password, OpenSSL would prompt for one in the terminal.
        context.load_cert_chain(certificate, key or None, password="")
    except ssl.SSLError as error:
        what = f"{CLIENT_CERTIFICATE} names {certificate}" + (f" and {CLIENT_KEY} {key}" if key else "")
        raise RequestRejected(
            f"{what}: a certificate and its key in PEM format without a password are required"
        ) from error
    except OSError as error:
        missing = (CLIENT_KEY, Path(key)) if Path(certificate).exists() else (CLIENT_CERTIFICATE, Path(certificate))
        raise RequestRejected(_unreadable(*missing, error)) from error


def _unreadable(variable: str, path: Path, error: OSError) -> str:
    why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
    return f"{variable} names {path}, which {why}"


class _Handshake(ssl.SSLObject):
    """Notes the issuer of a rejected certificate, which OpenSSL's error does not contain."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except ssl.SSLCertVerificationError as error:
            # Without a name where a certificate cannot be parsed: the error itself matters more.
            with suppress(AttributeError, ValueError, ssl.SSLError):
                error.add_note(self._issuer())
            raise

    def _issuer(self) -> str:
        """Return the issuer's common name, otherwise its organization; empty if there was no certificate."""
        # Only the wrapped object parses certificates that were not verified.
        wrapped: _WrappedObject = vars(self)["_sslobj"]
        found = wrapped.get_unverified_chain()
        issuer = dict(chain.from_iterable(found[0].get_info()["issuer"])) if found else {}
        return plain(issuer.get("commonName") or issuer.get("organizationName") or "")


class _WrappedObject(Protocol):
    def get_unverified_chain(self) -> Sequence[_Certificate] | None: ...


class _Certificate(Protocol):
    def get_info(self) -> Mapping[str, Iterable[Iterable[tuple[str, str]]]]: ...


def explain_rejection(error: ssl.SSLCertVerificationError, where: str) -> str:
    """Return what is wrong with a certificate and what to do."""
    if error.verify_code == EXPIRED:
        return f"the certificate of {where} has expired; check the clock, or ask the server's owner to renew it"
    if error.verify_code == NOT_YET_VALID:
        return f"the certificate of {where} is not valid yet; check this machine's clock"
    if error.verify_code in (OTHER_NAME, OTHER_ADDRESS):
        return f"the certificate of {where} is for another host: {plain(error.verify_message)} Check the base URL."
    issuer = "".join(getattr(error, "__notes__", ()))
    known = f"was issued by {issuer!r}, an authority that this machine does not trust" if issuer else "is not trusted"
    hint = "if that is your company, set SSL_CERT_FILE to its certificate in PEM format, or add it to the system"
    return f"the certificate of {where} {known} ({plain(error.verify_message)}); {hint}"

"""Whom we take for who they say they are, over TLS: the authorities of this system, the usual ones, and those a person
names; and what to say of everybody else."""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from harness.errors import RequestRejected
from providers.net.http_errors import plain

VARIABLES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
)
"""What people have set for other programs. Each names authorities that are trusted too, never instead."""

OWN_CERTIFICATE, OWN_KEY = "CINCH_CLIENT_CERT", "CINCH_CLIENT_KEY"

BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems keep their authorities: a Python from elsewhere looks where its makers had theirs."""

NOT_YET_VALID, EXPIRED, OTHER_NAME, OTHER_ADDRESS = 9, 10, 62, 64
"""OpenSSL's numbers of what can be wrong."""
DER = 2
NAME, ORGANIZATION = rb"\x06\x03\x55\x04\x03", rb"\x06\x03\x55\x04\x0a"


def ssl_context(environment: Mapping[str, str], platform: str = sys.platform) -> ssl.SSLContext:
    """What judges certificates.

    Raises:
        RequestRejected: a variable names what cannot be used.
    """
    is_native = platform in ("darwin", "win32")
    context = _of_the_system() if is_native else _of_openssl()
    for variable, path in _named(environment):
        # The system's own judge knows no folders.
        for place in _files_in(path) if is_native and path.is_dir() else [path]:
            _add(context, variable, place)
    _introduce_ourselves(context, environment)
    return context


def unused_context() -> ssl.SSLContext:
    """For connections without TLS: reading the authorities takes 40 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _of_the_system() -> ssl.SSLContext:
    # Only macOS and Windows keep their authorities where OpenSSL cannot look.
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _of_openssl() -> ssl.SSLContext:
    import certifi

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = _Handshake
    # Companies' authorities often lack what Python 3.13 asks for, and often the one in between is all a person has.
    context.verify_flags = context.verify_flags & ~ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(certifi.where())
    folder = ssl.get_default_verify_paths().openssl_capath
    if Path(folder).is_dir():
        context.load_verify_locations(capath=folder)
    if bundle := _bundle_of_the_system():
        context.load_verify_locations(bundle)
    return context


def _bundle_of_the_system() -> Path | None:
    usual = ssl.get_default_verify_paths().openssl_cafile
    return next((path for path in map(Path, (usual, *BUNDLES)) if path.is_file()), None)


def _named(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Each place once: many name the same in all of these variables."""
    seen = {_bundle_of_the_system()}
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
        raise RequestRejected(f"{variable} names {path}, which holds no certificates in PEM form") from error
    except OSError as error:
        raise RequestRejected(_unreadable(variable, path, error)) from error


def _introduce_ourselves(context: ssl.SSLContext, environment: Mapping[str, str]) -> None:
    certificate, key = environment.get(OWN_CERTIFICATE, ""), environment.get(OWN_KEY, "")
    if not certificate:
        return
    try:
        # Without a password in hand, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(certificate, key or None, password="")
    except ssl.SSLError as error:
        what = f"{OWN_CERTIFICATE} names {certificate}" + (f" and {OWN_KEY} {key}" if key else "")
        raise RequestRejected(f"{what}: they must be a certificate and its key, in PEM form, no password") from error
    except OSError as error:
        missing = (OWN_KEY, Path(key)) if Path(certificate).exists() else (OWN_CERTIFICATE, Path(certificate))
        raise RequestRejected(_unreadable(*missing, error)) from error


def _unreadable(variable: str, path: Path, error: OSError) -> str:
    why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
    return f"{variable} names {path}, which {why}"


class _Handshake(ssl.SSLObject):
    """Notes who issued a certificate that was refused: of OpenSSL's error, one cannot learn it."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except ssl.SSLCertVerificationError as error:
            error.add_note(issuer_in(self._shown()))
            raise

    def _shown(self) -> bytes:
        """The certificate that was shown to us; empty if none was."""
        if sys.version_info >= (3, 13):
            return next(iter(self.get_unverified_chain()), b"")
        # Before that version, only what it wraps can tell.
        inside: _Inside = vars(self)["_sslobj"]
        return next((certificate.public_bytes(DER) for certificate in inside.get_unverified_chain() or ()), b"")


class _Inside(Protocol):
    def get_unverified_chain(self) -> Sequence[_Certificate] | None: ...


class _Certificate(Protocol):
    def public_bytes(self, form: int) -> bytes: ...


def issuer_in(certificate: bytes) -> str:
    """The name of who issued a certificate (DER), or the organization of one without a name."""
    try:
        start, _ = _inside(certificate, _inside(certificate, 0)[0])
        # Version, number and algorithm go before.
        for _ in range(3):
            start = _inside(certificate, start)[1]
        issuer = certificate[slice(*_inside(certificate, start))]
    except IndexError:
        return ""
    for attribute in (NAME, ORGANIZATION):
        if found := re.search(attribute + rb"[\x0c\x13\x14\x16](.)", issuer, re.DOTALL):
            return plain(issuer[found.end() : found.end() + found[1][0]].decode(errors="replace"))
    return ""


def _inside(der: bytes, at: int) -> tuple[int, int]:
    """Where the content of the element at a place begins and ends."""
    length, start = der[at + 1], at + 2
    if length >= 0x80:
        digits = length - 0x80
        length, start = int.from_bytes(der[start : start + digits]), start + digits
    return start, start + length


def explain_rejection(error: ssl.SSLCertVerificationError, where: str) -> str:
    """What is wrong with a certificate, and what to do about it."""
    if error.verify_code == EXPIRED:
        return f"the certificate of {where} has expired; if this machine's clock is right, its owner must renew it"
    if error.verify_code == NOT_YET_VALID:
        return f"the certificate of {where} is not valid yet; is this machine's clock right?"
    if error.verify_code in (OTHER_NAME, OTHER_ADDRESS):
        return f"the certificate of {where} is for another host: {plain(error.verify_message)} Is the base URL right?"
    issuer = "".join(getattr(error, "__notes__", ()))
    known = f"was issued by {issuer!r}, whom this machine does not know" if issuer else "is not trusted"
    mend = "if that is your company, name the PEM file of its certificate in SSL_CERT_FILE, or add it to this system"
    return f"the certificate of {where} {known} ({plain(error.verify_message)}); {mend}"

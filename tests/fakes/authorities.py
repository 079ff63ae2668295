"""Certificates for tests: an authority of our own, and servers that show what it issued."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import trustme

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Authority:
    """Issues certificates; `file` is its own, for those who trust it."""

    def __init__(self, folder: Path, name: str = "Acme Inspection") -> None:
        self._ca = trustme.CA(organization_name=name)
        self.file = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(self.file)

    def server(self, *hosts: str, expired: bool = False, asks_back: bool = False) -> ssl.SSLContext:
        """For a server of these names; `asks_back` wants a certificate of clients, too."""
        issued = self._ca.issue_cert(*hosts, not_after=LONG_AGO if expired else None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issued.configure_cert(context)
        if asks_back:
            self._ca.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self, folder: Path) -> tuple[Path, Path]:
        """The files of a certificate and its key."""
        issued = self._ca.issue_cert("somebody@example.com")
        certificate, key = folder / "client.pem", folder / "client.key"
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return certificate, key

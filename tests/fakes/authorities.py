"""Certificates for tests: an authority of our own, and servers that show what it issued."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import trustme

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Authority:
    """Certificate authority; `file` is its own certificate, for clients that trust it."""

    def __init__(self, folder: Path, name: str = "Acme Inspection") -> None:
        self._ca = trustme.CA(organization_name=name)
        self.file = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(self.file)

    def server(self, *hosts: str, expired: bool = False, asks_back: bool = False) -> ssl.SSLContext:
        """Return the TLS context of a server with these names; `asks_back` requires client certificates too."""
        issued = self._ca.issue_cert(*hosts, not_after=LONG_AGO if expired else None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issued.configure_cert(context)
        if asks_back:
            self._ca.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self, folder: Path) -> tuple[Path, Path]:
        """Write a certificate and its key; return the files."""
        issued = self._ca.issue_cert("somebody@example.com")
        certificate, key = folder / "client.pem", folder / "client.key"
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return certificate, key

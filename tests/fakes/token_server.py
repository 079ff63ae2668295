"""Local server that issues tokens as Google does, and the key file of its client."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.local_http import Handler, LocalHttp


class TokenServer(LocalHttp):
    """Server on 127.0.0.1, a context manager. `asked` counts the requested tokens."""

    def __init__(self, *, expires_in: int = 3600, status: int = 200) -> None:
        self.asked = 0
        self.expires_in = expires_in
        self.status = status
        super().__init__(_Handler)

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    def answer(self) -> dict[str, object]:
        self.asked += 1
        if self.status != 200:
            return {"error": "invalid_grant", "error_description": "Token has been revoked."}
        return {"access_token": f"ya29.token-{self.asked}", "expires_in": self.expires_in, "token_type": "Bearer"}


class _Handler(Handler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps(self.server.fake.answer()).encode()
        self.send_body(self.server.fake.status, body, {"content-type": "application/json"})


def write_key_file(path: Path, token_url: str) -> Path:
    """Return the key file of a generated service account."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    facts = {
        "type": "service_account",
        "project_id": "of-the-login",
        "private_key_id": "1",
        "private_key": pem,
        "client_email": "cinch@of-the-login.example",
        "token_uri": token_url,
    }
    path.write_text(json.dumps(facts), encoding="utf-8")
    return path

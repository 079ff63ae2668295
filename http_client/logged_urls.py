"""URLs in the logs of HTTP libraries, without what may be secret."""

from __future__ import annotations

import logging

from http_client.addresses import shown_url


class _WithoutSecrets(logging.Filter):
    """Removes user name, password and query from URLs: they may contain API keys."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(shown_url(str(each)) if type(each).__name__ == "URL" else each for each in record.args)
        return True


_FILTER = _WithoutSecrets()


def hide_secrets_in_logs(library: str) -> None:
    """Remove secrets from the URLs that a library logs; may be called repeatedly.

    Args:
        library: Name of its logger, `httpx` or `httpx2`.
    """
    logging.getLogger(library).addFilter(_FILTER)

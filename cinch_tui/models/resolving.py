"""Resolution of model names without a provider, or of partial names: `claude-sonnet-5-5`, `sonnet 5`.

Loaded only for such names: the price data with the list of models is slow to import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cinch_tui.models.offers import pulled_offers, ready_providers
from harness.errors import ConfigError
from providers.catalog import nearest
from providers.installed import each_preset
from providers.model_catalog.prices import priced_models
from providers.model_catalog.version_order import newest_first

if TYPE_CHECKING:
    from cinch_tui.api_keys.credentials import KeyStore

MOST_LISTED = 6
_SNAPSHOT = re.compile(r"-(?:latest|preview|\d{4,8}|\d{4}-\d\d-\d\d)$")


def resolve_model(name: str, keys: KeyStore) -> str:
    """Return the `provider/model` for a name without a provider, among the providers with a key.

    A new model of a known family is accepted as it is; an unknown name is returned unchanged.

    Raises:
        ConfigError: the name is ambiguous; the message lists the matches.
    """
    vendor = _vendor_of(name)
    known = list(_known_models(keys))
    exact = [each for each in known if name.casefold() in (_model_id(each), _model_id(each).rpartition("/")[2])]
    if own := [each for each in exact if each.partition("/")[0] == vendor]:
        return own[0]
    if exact:
        return _only(exact, name)
    if vendor and re.search(r"\d", name):
        return f"{vendor}/{name}"
    words = re.findall(r"[^\s/-]+", name.casefold())
    found = _without_snapshots(each for each in known if words and all(word in each.casefold() for word in words))
    if found:
        return _only(found, name)
    if close := nearest(name, [_model_id(each) for each in known]):
        raise ConfigError(f"unknown model {name!r}; did you mean {' or '.join(close)}?")
    return name


def _known_models(keys: KeyStore) -> Iterable[str]:
    """Yield `provider/model` of each model that is known without a request."""
    for preset in ready_providers(keys):
        models = {*priced_models(preset), *filter(None, [preset.default_model])}
        yield from (f"{preset.name}/{model}" for model in sorted(models, key=newest_first))
    yield from (offer.name for offer in pulled_offers())


def _vendor_of(name: str) -> str:
    """Return the provider whose model names have this prefix; empty if unknown."""
    return next((each.name for each in each_preset() if name.startswith(tuple(each.families))), "")


def _model_id(name: str) -> str:
    return name.partition("/")[2].casefold()


def _without_snapshots(names: Iterable[str]) -> list[str]:
    """Return the names without dated versions of models that are also in the list."""
    found = list(names)
    return [each for each in found if _SNAPSHOT.sub("", each) == each or _SNAPSHOT.sub("", each) not in found]


def _only(found: list[str], name: str) -> str:
    if len(found) == 1:
        return found[0]
    more = f" and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
    raise ConfigError(f"{name!r} is ambiguous: {', '.join(found[:MOST_LISTED])}{more}; add the provider")

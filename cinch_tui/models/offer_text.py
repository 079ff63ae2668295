"""Short text for the metadata of a model: `200k`, `$3 / $15`, `images tools thinking`."""

from __future__ import annotations

from harness.ports.provider import Price
from providers.model_catalog.metadata import ModelMetadata

LEGEND = "i image input · t tools, x no tools · r reasoning (--thinking)"


def window_text(tokens: int | None) -> str:
    """Format a token count in thousands, decimal or binary; empty if unknown."""
    if not tokens:
        return ""
    if tokens < 1000:
        return str(tokens)
    thousand = 1024 if tokens % 1000 and not tokens % 1024 else 1000
    if tokens >= thousand * thousand:
        return f"{round(tokens / (thousand * thousand), 2):g}M"
    return f"{round(tokens / thousand)}k"


def price_text(price: Price | None) -> str:
    """Format the price in dollars per million input and output tokens."""
    if price is None:
        return ""
    if not price.input and not price.output:
        return "free"
    return f"{_dollars(price.input)} / {_dollars(price.output)}"


def capabilities_text(known: ModelMetadata) -> str:
    """Return the capabilities of a model, including "no tools", since an agent needs tools."""
    tools = {True: "tools", False: "no tools", None: ""}[known.tools]
    words = ("images" if known.images else "", tools, "thinking" if known.thinking else "")
    return " ".join(word for word in words if word)


def capability_letters(known: ModelMetadata) -> str:
    """Return the capabilities as up to three letters of `LEGEND`."""
    tools = {True: "t", False: "x", None: " "}[known.tools]
    return f"{'i' if known.images else ' '}{tools}{'r' if known.thinking else ' '}".rstrip()


def summary(known: ModelMetadata) -> str:
    """Return all metadata on one line."""
    parts = (window_text(known.context_window), price_text(known.price), capabilities_text(known))
    return " · ".join(part for part in parts if part)


def _dollars(amount: float) -> str:
    if amount == int(amount):
        return f"${int(amount)}"
    return f"${amount:.2f}" if amount >= 0.1 else f"${amount:.3g}"

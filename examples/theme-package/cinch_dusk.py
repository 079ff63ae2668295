"""The theme `dusk`."""

from pathlib import Path

DUSK = Path(__file__).with_name("cinch_dusk.toml")

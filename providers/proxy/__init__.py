"""The protocol of a proxy that speaks for models which cannot be reached from here."""

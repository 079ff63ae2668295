"""How the calls of a reply are run."""

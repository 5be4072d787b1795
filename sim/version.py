"""The version of this package; pyproject.toml reads it here."""

VERSION = "0.2.0"

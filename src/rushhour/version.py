"""The version of Rush Hour, as pyproject.toml has it."""

__version__ = "0.2.0"

"""Rush Hour: a congestion laboratory for the Linux network stack."""

__version__ = "0.1.0"

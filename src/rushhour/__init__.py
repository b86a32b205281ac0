"""Rush Hour: a congestion laboratory for the Linux network stack."""

"""Other systems, tried for real: set-up and a first plot in bare Debian and Ubuntu (`make systems`)."""

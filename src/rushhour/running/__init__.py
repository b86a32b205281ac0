"""Running: words on a command line become batches, batches become result sets."""

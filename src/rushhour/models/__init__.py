"""What theory predicts: small closed formulas, each with its source and the range in which it holds."""

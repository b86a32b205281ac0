"""Kernel mutants: small faults put into a kernel on purpose, to see whether the standard suite notices.

patches    the mutants, each a patch with a header
source     the base's source: a file with and without a mutant, a kernel with it
relink     that kernel in seconds: what the change reaches is compiled, then one link
judge      a mutant's kernel, built and judged by the suite's cells
cells      the suite's cells: what the base writes in each, which differ on a mutant
mechanical mutants by rule
groups     the files over which those are drawn
results    what is known already, and what of it still holds
page       docs/mutants.md
"""

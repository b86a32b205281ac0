"""Kernel mutants: small faults put into a kernel on purpose, to see whether the standard suite notices.

patches    the mutants, each a patch with a header
tree       the kernel's source as a git repository, one commit a mutant
judge      a mutant's kernel, built and compared with the kernel it comes from
results    what is known already, and what of it still holds
page       docs/mutants.md
"""

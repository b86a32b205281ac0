"""Real faults: what stable updates repaired in the network stack, taken out of the newest, hunk by hunk.

hunks      two releases → the hunks between them, turned round
alone      whether a file compiles without one
corpus     hunks.csv and hunks/: every hunk, what the suite executes of it, a patch of each that is judged
judging    many hunks judged by few kernels
found      found.csv: what came of each
words      whether the changes that docs/releases.md tells are in the sources that have them
page       docs/recall.md
"""

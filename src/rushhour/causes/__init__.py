"""Causes: what may hold a transfer back, how it is found, what is said of it and what helps.

One table of all causes (`table`), one of all thresholds (`thresholds`), and what `explain` (one record) and
`diagnosis` (two hosts) share: findings, their order, and the rules on what a TCP flow did (`rules`).
"""

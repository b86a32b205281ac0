"""Metrics: named quantities of one record, with unit, better-direction and definition.

`rushhour.metrics.catalog` lists them all; `rushhour.metrics.value` holds what a measurement gives.
"""

"""Beds for tests in real time: hosts, and paths between them."""

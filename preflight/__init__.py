"""Ordered checks of a rented GPU machine through the user's own torch."""

__version__ = "0.1.0"

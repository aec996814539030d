"""Queries of one client, that end with it."""

"""Rules of types and their values: what becomes what, and how values look as text."""

"""Rows in, scores out, and models as files."""

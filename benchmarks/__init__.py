"""Measured comparisons of eigenstream with its peers."""

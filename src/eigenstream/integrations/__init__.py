"""Adapters to other libraries, each of which is imported only by the module that bears its name."""

"""Sources of rows, sinks of scores, and files of models."""

"""Machinery that runs, keeps, judges, draws and reports an item of the paper, whatever it shows."""

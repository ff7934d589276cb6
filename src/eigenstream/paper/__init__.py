"""The paper, item by item: every table, figure and claim, simulated, drawn and checked."""

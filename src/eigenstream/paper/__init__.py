"""The paper: `items` holds figures, tables and claims, `reproduction` runs, judges and reports them."""

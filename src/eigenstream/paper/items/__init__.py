"""Every table, figure and claim of the paper: simulated, drawn and checked, one module each."""

from ..reproduction.item import Item
from . import (
    derivations,
    eigenvalue_tracking,
    error_decay,
    family,
    large_alpha,
    local_learning,
    open_choices,
    phase_diagram,
    random_weights,
    real_data,
    relatives,
    signal_to_noise,
    sudden_change,
    table_1,
    theory,
    weaknesses,
)

ITEMS: dict[str, Item] = {
    item.NAME: item
    for item in (
        table_1,
        signal_to_noise,
        phase_diagram,
        local_learning,
        eigenvalue_tracking,
        error_decay,
        sudden_change,
        random_weights,
        open_choices,
        derivations,
        large_alpha,
        weaknesses.ITEM,
        theory.ITEM,
        family,
        relatives.ITEM,
        real_data,
    )
}
"""Every item by name, in the order of the paper; what the authors left out comes last."""

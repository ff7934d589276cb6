"""What is measured. A section is a module with

    TITLE                        of its report
    seconds(quick) -> float      how long it should take
    run(meter, quick) -> dict    measure; plain numbers, lists and dicts only
    report(results) -> str       in Markdown, targets beside figures
    draw(results) -> Figure      no computation

and its name is that of its files.
"""

from types import ModuleType

from benchmarks.sections import (
    accuracy,
    bank,
    defaults,
    engine,
    fit,
    growth,
    latency,
    live,
    monitor,
    offline,
    overheads,
    rules,
    startup,
    throughput,
)

SECTIONS: list[ModuleType] = [
    fit,
    accuracy,
    rules,
    latency,
    startup,
    throughput,
    growth,
    bank,
    live,
    monitor,
    overheads,
    offline,
    engine,
    defaults,
]

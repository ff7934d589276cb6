"""Where the figures come from: processor, versions, memory. No names of hosts or paths."""

from __future__ import annotations

import os
import platform
import resource
import sys
from importlib.metadata import version
from pathlib import Path
from time import process_time

from threadpoolctl import threadpool_info

PACKAGES = ("eigenstream", "numpy", "scipy", "numba", "scikit-learn")
STATUS = Path("/proc/self/statm")


def facts() -> dict[str, str]:
    """What a figure depends on besides the code."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        "BLAS": _blas(),
    }


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _blas() -> str:
    libraries = {
        " ".join(str(found[key]) for key in ("internal_api", "version", "architecture") if found.get(key))
        for found in threadpool_info()
        if found["user_api"] == "blas"
    }
    return ", ".join(sorted(libraries))


def busy_elsewhere() -> float:
    """CPU seconds that other processes have used since the system started; 0 where it does not tell."""
    listing = Path("/proc/stat")
    if not listing.exists():
        return 0.0
    user, nice, system = (int(ticks) for ticks in listing.read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - process_time()


def peak_memory() -> float:
    """The most MiB of this process in memory so far."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike what getrusage says, without the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    return _most_memory()


def _most_memory() -> float:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def resident_memory() -> float:
    """MiB of this process in memory now; where the system does not tell, the most there has been."""
    if STATUS.exists():
        return int(STATUS.read_text().split()[1]) * resource.getpagesize() / 2**20
    return _most_memory()

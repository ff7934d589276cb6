"""Go through a range of cases: see the package. ``python -m tests.damage sources 1234 1235``."""

import sys

from tests.damage.process import work

work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

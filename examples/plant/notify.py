"""Tell somebody of an alarm: eigenstream watch plant.csv --on-alarm "python notify.py alarms.log"

Reads one alarm as JSON from standard input and adds a line to a file. Put your pager, e-mail or ticket in the
place of the last line. Whatever it prints to standard error is seen where the watch runs.
"""

import json
import sys

alarm = json.load(sys.stdin)
inputs = ", ".join(f"{name} {share:.0%}" for name, share in alarm["contributors"].items())
where = f"{alarm['key']}, " if "key" in alarm else ""
when = alarm.get("time", f"row {alarm['row']}")
with open(sys.argv[1], "a", encoding="utf-8") as log:
    log.write(f"{where}{when}: alarm {alarm['state']}, severity {alarm['peak']:.3g}; {inputs}\n")

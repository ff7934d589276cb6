"""Tell somebody of alarms and notices: eigenstream watch plant.csv --on-alarm "python notify.py alarms.log"

Reads one event as JSON from standard input and adds a line to a file. Put your pager, e-mail or ticket in the
place of the last line. Whatever it prints to standard error is seen where the watch runs.
"""

import json
import sys

event = json.load(sys.stdin)
if event["event"] == "alarm":
    inputs = ", ".join(f"{name} {share:.0%}" for name, share in event["contributors"].items())
    said = f"alarm {event['state']}, severity {event['peak']:.3g}; {inputs}"
else:  # an input that is flat, lively or gone, or a drift of the whole
    said = f"{event.get('input', 'all inputs')}: {event['kind']} {event['state']}"
where = f"{event['key']}, " if "key" in event else ""
when = event.get("time", f"row {event['row']}")
with open(sys.argv[1], "a", encoding="utf-8") as log:
    log.write(f"{where}{when}: {said}\n")

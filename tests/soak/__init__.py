"""`make soak`: `eigenstream watch --follow` at full speed for half an hour, with everything that goes wrong.

A plant that this package makes is written to a log. A watcher follows it with an output, a live page and
metrics; it is killed at random moments and resumed, its disk is full now and then, the log is rotated, and
pages and metrics are loaded all the time. After each rotation, every row of the output is compared with a
monitor that has seen the same rows in one go: nothing may be lost, nothing twice, and no bit may differ.
"""

"""`make soak`: jobs at work for half an hour or longer, with everything that goes wrong.

Three lanes run side by side. *Log*: a plant is written to a log that is rotated; a watcher follows it with an
output, a live page and metrics. *Fleet*: rows of many units come in a growing file, with one model per unit.
*Redis*: rows come in a stream of a Redis server, which stops for seconds now and then, and are watched. All
jobs are killed at random moments and resumed, and their disk is full now and then. Lookers load the page and
the metrics all the time; others connect, say a byte now and then, and wait to be cut.

In the end of each log, and of each round of the other lanes, every row of the output is compared with that of
a job that has seen the same rows in one go: nothing may be lost, nothing twice, and no bit may differ.
"""

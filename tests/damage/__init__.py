"""Thousands of damaged files: each ends in a clear error or a right result, never in a crash or a hang.

Case numbers are handed in ranges to a process of its own, which has little memory. A case follows from its
number alone: ``python -m tests.damage sources 1234 1235`` repeats one. What is damaged:

- ``sources``: files of every kind that rows are read from (`tests.damage.sources`);
- ``models``: the bytes of model files (`tests.damage.models`);
- ``signed``: what model files hold, under a checksum that is right (`tests.damage.signed`);
- ``banks`` and ``forged banks``: the bytes of banks, and what they hold (`tests.damage.banks`).
"""

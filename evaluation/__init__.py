"""The field on the same streams: eigenstream and its rivals, question by question."""

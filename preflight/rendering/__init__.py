"""A report is a function of the record: one file a format, no clock, no files, no exit codes."""

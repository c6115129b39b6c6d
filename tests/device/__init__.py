"""What is done on a machine with a real accelerator, and tests of the scripts that do it."""

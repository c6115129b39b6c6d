"""Code that runs in the user's interpreter: Python >= 3.9, the standard library and torch alone.

Nothing here imports the rest of preflight, which need not be installed in that interpreter.
"""

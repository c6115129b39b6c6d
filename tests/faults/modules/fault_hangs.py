"""A module of the user that hangs while it is imported."""

import ctypes

ctypes.PyDLL(None).sleep(600)

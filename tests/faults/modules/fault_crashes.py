"""A module of the user that crashes while it is imported."""

import ctypes

ctypes.string_at(0)

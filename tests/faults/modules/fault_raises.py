"""A module of the user that raises while it is imported."""

raise ImportError("libnothing.so.9: cannot open shared object file")

"""The pytest plugin, ordering and gates, launching and bounding children."""

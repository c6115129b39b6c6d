"""``preflight run --device cuda`` as it stands, on the devices of tests/fakegpu."""

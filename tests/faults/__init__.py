"""Programs, probes and modules that misbehave, and the means to run checks over them."""

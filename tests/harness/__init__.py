"""Tests of the harness: faults are injected for real, in processes of their own."""

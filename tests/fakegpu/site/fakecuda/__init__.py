"""Devices named ``cuda`` on a CPU-only torch. Import it before torch: sitecustomize does."""

import sys

assert "torch" not in sys.modules, "fakecuda must be imported before torch"

# The library comes first: libtorch asks for the CUDA hooks once.
# isort: off
from . import binding  # noqa: E402
from . import clocks, devices, distributed, storage, streams  # noqa: E402
# isort: on

devices.install()
streams.install()
storage.install()
distributed.install()
clocks.install()

synchronize = binding.ops.synchronize
pending = binding.ops.pending
hits = binding.ops.hits

"""Eight devices named cuda:0 to cuda:7 in host memory, for runs of the command without a card.

``native/`` holds two libraries that ``build.py`` builds: one gives devices to a CPU-only torch, one
answers nvidia-ml-py. ``site/`` is put on PYTHONPATH and lets torch have the first in every process
that imports it. ``environment.py`` makes the environment that injects both, and faults.

What they cannot show: real kernels and their choice, numerics of the vendor's libraries, timing,
NCCL itself, CUDA graphs, the caching allocator.
"""

"""Static judgement: will this build run on that card.

Rules, each a pure function that gives a ``Finding``: ``rules`` (code, driver, Python and glibc),
``triton_rules``, ``libraries``, ``rocm``, and all at once ``verdicts``. ``wheel_choice`` has the
command that helps. Their tables are the TOML files beside them.
"""

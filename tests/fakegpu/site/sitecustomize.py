"""Found on PYTHONPATH: ``import torch`` brings the fake devices in every process."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


class _Loaded:
    """Loader of a module that has been imported already."""

    def create_module(self, spec):
        return sys.modules[spec.name]

    def exec_module(self, module):
        pass


class _TorchFinder:
    """Answers the first ``import torch``, since the devices must be there before torch is."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        importlib.import_module("fakecuda")
        torch = sys.modules["torch"]
        spec = importlib.machinery.ModuleSpec(
            name, _Loaded(), origin=torch.__file__, is_package=True
        )
        spec.submodule_search_locations = list(torch.__path__)
        torch.__spec__ = spec  # importlib takes it from a module that is in sys.modules
        return spec


def _run_the_interpreters_own():
    """A process has one ``sitecustomize``, and this one stands before the distribution's."""
    path = [folder for folder in sys.path if Path(folder).resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("FAKEGPU_LIBRARY"):
    sys.meta_path.insert(0, _TorchFinder())
_run_the_interpreters_own()

"""Tests of packaging/: configuration, bundle, release and installed package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "packaging"))  # the scripts import each other by name


def script(path: str) -> ModuleType:
    """Load a script in packaging/ by its path, because `import packaging` finds the library of that name."""
    name = "slipstream_" + path.removesuffix(".py").replace("/", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]

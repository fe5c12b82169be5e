"""The benchmark behind `slipstream bench`."""

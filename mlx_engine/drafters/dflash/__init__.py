"""DFlash: a block of masks, filled in one pass."""

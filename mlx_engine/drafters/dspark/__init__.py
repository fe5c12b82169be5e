"""DSpark: DFlash's block, tokens chosen one after the other, and a forecast of their acceptance."""

"""DSpark: DFlash's block with chosen tokens and forecast acceptance."""

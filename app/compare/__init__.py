"""The Compare screen: one prompt, plain and with DFlash."""

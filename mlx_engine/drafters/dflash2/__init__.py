"""DFlash 2: convolutions along the block, and tokens selected jointly."""

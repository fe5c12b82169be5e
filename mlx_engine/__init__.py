"""The engine: all code that uses MLX or model files. Independent of Qt."""

import os

# Every import of MLX in this project comes after this line. On M5 with macOS 26.2 or later, MLX would multiply float32 matrices in
# TF32, but not single rows: DFlash's text would differ from plain text. MLX reads this once, before its first product.
os.environ["MLX_ENABLE_TF32"] = "0"

// Replaces MLX's header: kernels that log are not run in the emulator.
#pragma once

// In place of MLX's file of this name: kernels that log are not run here.
#pragma once

"""The slipstream command."""

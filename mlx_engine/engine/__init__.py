"""The engine, its thread, and one reply or comparison."""

"""Tests of pairs on several computers."""

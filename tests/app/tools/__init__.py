"""Tests of app/tools."""

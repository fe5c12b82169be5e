"""A program that uses the network in every way that the app does, while every socket is watched."""

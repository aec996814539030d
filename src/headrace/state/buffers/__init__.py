"""Buffers that hold records back until their time has come."""

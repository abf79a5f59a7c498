"""The simulation's compiled inner loop, one file a subject. Kernels know numbers only: kinds, slots, grids."""

"""The simulation's compiled inner loop, one file per subject. Kernels work on numbers: kinds, slots, grids."""

"""Where runs happen: the only part of the program that touches processes, clocks and the machine."""

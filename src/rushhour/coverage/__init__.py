"""Which lines, branches and functions of the kernel the cells of a sweep execute.

Takes what gcov says of each run (`rushhour.lab.gcov`), gives an `Index`: of every line the cells that
execute it.
"""

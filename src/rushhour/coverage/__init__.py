"""Which lines, branches and functions of the kernel the cells of a sweep execute.

Takes what gcov says of each run (`rushhour.lab.gcov`), gives an `Index`: of every line the cells that
execute it.
"""

FOLDERS = ("net", "drivers/net")
"""What is covered of a kernel's source, with what lies below: in `net/with` files given beside a source."""
HEADERS = "include/net"
"""Its inline functions are covered in the objects that use them."""

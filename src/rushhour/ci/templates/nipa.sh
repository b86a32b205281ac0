#!/bin/bash
# A patch as netdev's CI tests it: HEAD of the tree in which this is started, against its parent. Made by `rushhour ci nipa`.
#
# 0 passes, 250 is a warning, anything else fails. One line is for the summary (DESC_FD), the rest for the log.
said=$(rushhour check --committed --base HEAD~1)
code=$?
line=$(printf '%s\n' "$said" | sed -n '/./{p;q;}')
printf '%s\n' "${line:-it could not be checked}" >&"${DESC_FD:-1}"
printf '%s\n' "$said" >&2
case $code in
0) exit 0 ;;
# The runs cannot tell, nothing executes it, or this machine could not: no fault of the patch that is known.
2 | 3 | 4) exit 250 ;;
*) exit 1 ;;
esac

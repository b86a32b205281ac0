# fish completion of rushhour
function __rushhour_complete
    set -l program (commandline -opc)[1]
    set -lx _RUSHHOUR_COMPLETE (commandline -cp | string collect)
    $program 2>/dev/null
end
complete -c rushhour -f -a '(__rushhour_complete)'

# bash completion of rushhour
_rushhour() {
    local line="${COMP_LINE:0:COMP_POINT}" word head value quoted
    # bash breaks words at `:` and `=` and replaces only what comes after them.
    word="${line##*[[:space:]]}"
    head="${word%"${word##*[:=]}"}"
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        printf -v quoted %q "${value#"$head"}"
        COMPREPLY+=("$quoted")
    done < <(_RUSHHOUR_COMPLETE="$line" "${1/#\~/$HOME}" 2>/dev/null)
    # What goes on gets no space.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=.] ]]; then compopt -o nospace; fi
}
complete -F _rushhour rushhour

#compdef rushhour
# zsh completion of rushhour
_rushhour() {
    local -a whole open
    local value about line="${(j: :)words[1,CURRENT-1]} $PREFIX"
    while IFS=$'\t' read -r value about; do
        # What goes on gets no space.
        if [[ $value == *[/=.] ]]; then
            open+=("$value")
        else
            whole+=("${value//:/\\:}${about:+:$about}")
        fi
    done < <(_RUSHHOUR_COMPLETE="$line" ${~words[1]} 2>/dev/null)
    (( ${#whole} )) && _describe rushhour whole
    (( ${#open} )) && compadd -S '' -a open
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _rushhour "$@"
else
    compdef _rushhour rushhour
fi

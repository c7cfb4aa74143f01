_amem_completion() {
    local IFS=$'\n' found
    found=$(_AMEM_COMPLETE=complete_bash COMP_WORDS="${COMP_LINE:0:COMP_POINT}" \
        COMP_WORDBREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
    # 4: the shell knows files better.
    [[ $? -eq 4 ]] && compopt -o default 2>/dev/null
    COMPREPLY=()
    local line
    while read -r line; do
        [[ -n $line ]] && COMPREPLY+=("$line")
    done <<<"$found"
}

complete -F _amem_completion amem

_team__executor_names() {
    local names
    names=$("${COMP_WORDS[0]}" CANDIDATES "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -n $names ]]; then
        local current=${COMP_WORDS[COMP_CWORD]}
        [[ $current == "=" ]] && current=
        local IFS=$'\n'
        COMPREPLY=($(compgen -W "$names" -- "$current"))
        return 0
    fi
    _team__executor "$@"
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _team__executor_names -o nosort -o bashdefault -o default team-executor
else
    complete -F _team__executor_names -o bashdefault -o default team-executor
fi

_team-executor() {
    local names
    names=$("${words[1]}" CANDIDATES "${(@)words[2,CURRENT]}" 2>/dev/null)
    if [[ -n $names ]]; then
        compset -P '*='
        compadd -- "${(@f)names}"
        return
    fi
    _team-executor_words "$@"
}

if [ "$funcstack[1]" = "_team-executor" ]; then
    _team-executor "$@"
else
    compdef _team-executor team-executor
fi

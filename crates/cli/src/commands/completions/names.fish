function __team_executor_names
    set -l words (commandline -opc)
    $words[1] CANDIDATES $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c team-executor -f -a '(__team_executor_names)'
complete -c team-executor -l session -x -a '(__team_executor_names)'
complete -c team-executor -l agent -x -a '(__team_executor_names)'
complete -c team-executor -l run -x -a '(__team_executor_names)'

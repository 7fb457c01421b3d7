#!/bin/sh
# Runs the bundled session on the repository that it stands in: copies it to .workflow/, where sessions live, and executes
# it with examples/study-repository.sh as the worker. Run it again and it says that the work is done.
set -eu
cd "$(dirname "$0")/.."
session=.workflow/.team/TC-repository-report-2026-11-15
mkdir -p .workflow/.team
[ -d "$session" ] || cp -R examples/TC-repository-report-2026-11-15 "$session"
cargo run --quiet --profile quick -- --session="$session" --agent-command examples/study-repository.sh -y "$@"
echo
cat .workflow/.csv-wave/EX-repository-report-*/artifacts/REPORT-002/summary.md

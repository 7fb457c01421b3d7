#!/bin/sh
# One worker of the bundled session: does the task that TEAM_EXECUTOR_TASK names, with tools rather than a model.
# Numbers come from commands; what it delivers goes to TEAM_EXECUTOR_ARTIFACTS, a summary is printed last.
set -eu

deliver=$TEAM_EXECUTOR_ARTIFACTS
others=$(dirname "$deliver")

# What version control knows, or every file where there is none.
files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -co --exclude-standard | grep -v '^\.workflow/'
    else
        find . -type f -not -path './.*' | sed 's|^\./||'
    fi | while IFS= read -r file; do [ -f "$file" ] && printf '%s\n' "$file"; done
}

lines_by_ending() {
    files | while IFS= read -r file; do
        ending=${file##*.}
        [ "$ending" = "$file" ] && ending=other
        printf '%s %s\n' "${ending##*/}" "$(wc -l <"$file")"
    done | awk '{ files[$1]++; lines[$1] += $2 } END { for (e in files) print lines[e], files[e], e }' | sort -rn
}

case $TEAM_EXECUTOR_TASK in
SURVEY-001)
    lines_by_ending >"$deliver/languages.txt"
    awk '{ lines += $1; files += $2 } END { print files " files, " lines " lines, " NR " sorts" }' "$deliver/languages.txt"
    ;;
SURVEY-002)
    files | while IFS= read -r file; do printf '%s %s\n' "$(wc -c <"$file")" "$file"; done |
        sort -rn | head -5 >"$deliver/largest.txt"
    awk 'NR == 1 { print "the largest file is " $2 " with " $1 " bytes" }' "$deliver/largest.txt"
    ;;
SURVEY-003)
    files | while IFS= read -r file; do grep -Ihc '#\[test\]' "$file" || true; done |
        awk '{ tests += $1 } END { print tests + 0 }' >"$deliver/tests.txt"
    echo "$(cat "$deliver/tests.txt") tests stand beside the code"
    ;;
HISTORY-001)
    { git rev-list --count HEAD 2>/dev/null || echo 0; } >"$deliver/commits.txt"
    { git log --format=%an 2>/dev/null || true; } | sort -u | grep -c . >"$deliver/authors.txt" || true
    echo "$(cat "$deliver/commits.txt") commits by $(cat "$deliver/authors.txt") authors"
    ;;
REPORT-001)
    {
        echo "# Report"
        echo
        awk '{ lines += $1; files += $2 } END { print "- " files " files with " lines " lines" }' "$others/SURVEY-001/languages.txt"
        awk 'NR <= 3 { print "- ." $3 ": " $2 " files, " $1 " lines" }' "$others/SURVEY-001/languages.txt"
        awk 'NR == 1 { print "- largest file: " $2 " (" $1 " bytes)" }' "$others/SURVEY-002/largest.txt"
        echo "- tests: $(cat "$others/SURVEY-003/tests.txt")"
        echo "- commits: $(cat "$others/HISTORY-001/commits.txt")"
    } >"$deliver/report.md"
    echo "the report has $(wc -l <"$deliver/report.md") lines"
    ;;
CHECK-001)
    counted=$(files | wc -l)
    reported=$(awk '/ files with / { print $2 }' "$others/REPORT-001/report.md")
    echo "files: counted $counted, reported $reported" | tee "$deliver/check.txt"
    [ "$counted" = "$reported" ]
    ;;
REPORT-002)
    { cat "$others/REPORT-001/report.md"; echo; echo "Checked: $(cat "$others/CHECK-001/check.txt")"; } >"$deliver/summary.md"
    echo "the summary is checked: $(cat "$others/CHECK-001/check.txt")"
    ;;
*)
    echo "no such task: $TEAM_EXECUTOR_TASK" >&2
    exit 1
    ;;
esac

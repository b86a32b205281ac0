#!/usr/bin/env bash
# Beaker's side of the job: the machines meet, run, report cell by cell, and meet again.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
export OUT="$PWD/rushhour"
log="rushhour-$(hostname -s).log"

together() { # together STATE: go on when every machine of the set is there
    rstrnt-sync-set -s "$1"
    # shellcheck disable=SC2086 # names of machines
    rstrnt-sync-block -s "$1" --timeout 3600 ${CLIENTS:-} ${SERVERS:-}
}

if ! command -v rushhour >/dev/null; then
    python3 -m venv "$PWD/venv"
    "$PWD/venv/bin/pip" install --quiet @[ requirement or wheels ~ '/*.whl' ]@
    PATH="$PWD/venv/bin:$PATH"
fi
together ready
./rushhour.sh >"$log" 2>&1
code=$?
[ -e "$OUT/results.tap" ] && while read -r line; do
    name=$(sed -E 's/^(not )?ok [0-9]+ //; s/ # (SKIP|time=).*//; s/[^A-Za-z0-9_=.\/]+/-/g' <<<"$line")
    case $line in
    "ok "*" # SKIP"*) rstrnt-report-result "$RSTRNT_TASKNAME/$name" SKIP ;;
    "ok "*) rstrnt-report-result "$RSTRNT_TASKNAME/$name" PASS ;;
    "not ok "*) rstrnt-report-result -o "$log" "$RSTRNT_TASKNAME/$name" FAIL ;;
    esac
done <"$OUT/results.tap"
for file in "$log" "$OUT"/{report.html,summary.md,verdict.json,junit.xml}; do
    [ -e "$file" ] && rstrnt-report-log -l "$file"
done
[ "$code" = 0 ] && result=PASS || result=FAIL
rstrnt-report-result -o "$log" "$RSTRNT_TASKNAME" "$result" "$code"
together done
exit "$code"

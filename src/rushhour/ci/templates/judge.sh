#!/usr/bin/env bash
# Builds the kernel, runs Rush Hour's suite on it, and judges it against the stored baseline.
# Leaves everything in ./rushhour: report.html, summary.md, junit.xml, results.tap, verdict.json, records.
#
#   KERNEL    what `rushhour kernel build` takes: a directory, DIRECTORY@REVISION, a tarball, debian:6.12
#   BASELINE  a folder made by `rushhour baseline save`, or its name
#   MODE      empty, or --quick
set -euo pipefail
KERNEL=${KERNEL:-@[ kernel | sh ]@}
BASELINE=${BASELINE:-@[ baseline | sh ]@}
MODE=${MODE-@[ '--quick' if quick else '' ]@}
OUT=${OUT:-rushhour}

rushhour kernel build "$KERNEL" --name candidate --aside
verdict=0
# shellcheck disable=SC2086 # MODE is a word or nothing
rushhour compare "$BASELINE" candidate $MODE --out "$OUT" \
    --to junit --to tap --to openmetrics --to tmt --to github || verdict=$?
rushhour kernel list >"$OUT/kernels.txt"
case $verdict in
0) echo "The network stack behaves as in the baseline, or better." ;;
1) echo "Something became worse: see $OUT/report.html" ;;
2) echo "The kernels could not be compared." ;;
3) echo "The runs cannot tell: see $OUT/summary.md" ;;
4) echo "Runs are invalid: see $OUT/summary.md" ;;
esac
exit "$verdict"

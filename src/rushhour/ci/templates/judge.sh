#!/usr/bin/env bash
# Builds the kernel, runs on it what the stored baseline ran, and judges it by that.
# Leaves everything in ./rushhour: report.html, summary.md, junit.xml, results.tap, verdict.json, records.
#
#   KERNEL    what `rushhour kernel build` takes: a directory, DIRECTORY@REVISION, a tarball, debian:6.12
#   BASELINE  a folder made by `rushhour baseline save`, or its name: it says what is run
set -euo pipefail
KERNEL=${KERNEL:-@[ kernel | sh ]@}
BASELINE=${BASELINE:-@[ baseline | sh ]@}
OUT=${OUT:-rushhour}

rushhour kernel build "$KERNEL" --name candidate --aside
verdict=0
rushhour compare "$BASELINE" candidate --out "$OUT" \
    --to junit --to tap --to openmetrics --to tmt --to github || verdict=$?
case $verdict in
0) echo "The network stack behaves as in the baseline, or better." ;;
1) echo "Something became worse: see $OUT/report.html" ;;
2) echo "The kernels could not be compared." ;;
3) echo "The runs cannot tell: see $OUT/summary.md" ;;
4) echo "Runs are invalid: see $OUT/summary.md" ;;
esac
exit "$verdict"

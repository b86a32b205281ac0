#!/usr/bin/env bash
# tmt's side of the job: Rush Hour in an environment of its own, results where tmt looks for them.
set -uo pipefail
export OUT="$TMT_TEST_DATA/rushhour"
if ! command -v rushhour >/dev/null; then
    python3 -m venv "$TMT_TEST_DATA/venv" || exit 1
    "$TMT_TEST_DATA/venv/bin/pip" install --quiet @[ requirement or '"$TMT_TREE"/ci/' ~ wheels ~ '/*.whl' ]@ || exit 1
    PATH="$TMT_TEST_DATA/venv/bin:$PATH"
fi
cd "$TMT_TREE" || exit 1
ci/rushhour.sh >"$TMT_TEST_DATA/output.txt" 2>&1
code=$?
cat "$TMT_TEST_DATA/output.txt"
if [ -e "$OUT/results.yaml" ]; then
    cp "$OUT/results.yaml" "$TMT_TEST_DATA/results.yaml"
else
    # Nothing was judged: the test itself is what broke.
    printf -- '- {name: /, result: error, note: ["no verdict; exit code %s, see output.txt"]}\n' "$code" \
        >"$TMT_TEST_DATA/results.yaml"
fi
exit "$code"

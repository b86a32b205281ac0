#!/usr/bin/env bash
# One night: fetches the tree, and judges what it is today against the last one that ran. Made by `rushhour ci nightly`.
#
# Says one line, also the last of ./nights, and ends as `rushhour check` does: 0 the same or better, 1 worse or it does not
# build, 3 the runs cannot tell, 4 runs failed. 2: nothing could be judged (no network, a full disk); the next night tries again.
# A revision that was judged is not judged again: the same line, the same code.
#
#   TREE         URL or folder of the repository
#   BRANCH       of it
#   PACKETDRILL  folder of packetdrill's scripts; empty: none run
#   SANITIZERS   also run the cells with these: "kasan lockdep"; empty: none
#   METRIC       of the page ./history.html
#   RUSHHOUR_DB  the results database; ./results.db
#
# Beside this script: tree.git (the mirror), nights (date, revision, code, line), last (the revision that ran last), logs and
# results of each night.
set -uo pipefail
cd "$(dirname "$0")" || exit 2
TREE=${TREE:-@[ tree | sh ]@}
BRANCH=${BRANCH:-@[ branch | sh ]@}
PACKETDRILL=${PACKETDRILL-@[ packetdrill | sh ]@}
SANITIZERS=${SANITIZERS-@[ sanitizers | sh ]@}
METRIC=${METRIC:-goodput_bps}
export RUSHHOUR_DB=${RUSHHOUR_DB:-$PWD/results.db}

cannot() {
    echo "$BRANCH: $1"
    exit 2
}

# Whoever ends the night ends what it has begun; else that would go on alone, and hold the lock.
begun=
ended() {
    trap '' INT TERM HUP
    [ -z "$begun" ] || { kill -TERM "$begun" 2>/dev/null && wait "$begun"; }
    echo "$BRANCH: interrupted; the next night tries again"
    exit 2
}
trap ended INT TERM HUP
night() {
    rushhour "$@" >"$night.txt" 2>"$night.log" &
    begun=$!
    wait "$begun"
    code=$?
    begun=
}

exec 9>lock
flock --nonblock 9 || cannot "the night before is not over"
touch nights
[ -d tree.git ] || git init --quiet --bare tree.git || cannot "no repository can be made here"
# What git tidies up by the way goes on without this script: it does not get the lock.
git -C tree.git fetch --quiet --no-tags "$TREE" "+refs/heads/$BRANCH:refs/heads/nightly" 2>fetch.log 9>&- ||
    cannot "it cannot be fetched: $(tail -n 1 fetch.log)"
git -C tree.git symbolic-ref HEAD refs/heads/nightly
today=$(git -C tree.git rev-parse refs/heads/nightly) || cannot "the mirror is damaged: remove $PWD/tree.git"
if known=$(grep -F -- " $today " nights); then
    read -r _ _ code said <<<"$(tail -n 1 <<<"$known")"
    echo "$said"
    exit "$code"
fi

night=results/$(date -u +%Y%m%d-%H%M%S)
mkdir -p results
verdict=
if [ -s last ]; then
    # What ran last is kept by a name, or git would forget it once the branch is rebased.
    before=$(cat last)
    words=(--base "$before" --at-once --committed --all --out "$night")
    for one in $SANITIZERS; do words+=(--with "$one"); done
    [ -z "$PACKETDRILL" ] || words+=(--packetdrill "$PACKETDRILL")
    night check tree.git "${words[@]}"
    verdict=$(sed -n '/./{p;q;}' "$night.txt")
    said="$BRANCH ${today:0:12}, after ${before:0:12}: $verdict"
else
    before=
    # By the name that `check` gives it: the next night knows it, and it is one kernel in the database.
    kernel=check-${today:0:12}
    night kernel build "$PWD/tree.git@$today" --name "$kernel" --aside
    if [ "$code" -eq 0 ]; then
        night run suite --quick --no-report --kernel "$kernel" --out "$night/first"
        case $code in
        0) verdict="The first night: what comes is judged by it." ;;
        1) code=4 verdict="Invalid: not all runs are as they should be, see $PWD/$night.log" ;;
        4) verdict="Invalid: see $PWD/$night.log" ;;
        esac
    elif [ "$code" -eq 1 ]; then
        verdict="It does not build: see $PWD/$night.log"
    fi
    said="$BRANCH ${today:0:12}: $verdict"
fi
# A code without a sentence is no answer.
[ "$code" -le 4 ] && [ "$code" -ne 2 ] && [ -n "$verdict" ] || cannot "see $PWD/$night.log: $(tail -n 1 "$night.log")"

# Into the database, and from it the page; neither changes what was found.
for folder in "$night"/*/; do
    [ ! -d "$folder" ] || [ -L "${folder%/}" ] || rushhour db import "$folder" --tag nightly >>"$night.log" 2>&1
done
rushhour history "$METRIC" suite --limit 1000 --out history.html >>"$night.log" 2>&1
case $verdict in
"It does not build"*) ;; # the next night is judged by the last tree that ran
*)
    git -C tree.git update-ref refs/heads/last "$today"
    echo "$today" >last
    ;;
esac
scenario=$(sed -n 's/^Worse: \(suite\/[a-z0-9-]*\)[,:].*/\1/p' <<<"$verdict")
[ -z "$scenario" ] || echo "which commit: rushhour bisect --tree $PWD/tree.git --good $before --bad $today $scenario" >&2
echo "$(date -u +%F) $today $code $said" >>nights
echo "$said"
exit "$code"

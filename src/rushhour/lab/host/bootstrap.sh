# Takes the agent from standard input, checks it, and becomes it. POSIX sh: dash, bash, busybox.
# `size`, `packed`, `digest`, `machine`, `patience` and `sudo` stand before it. The folder is gone before the agent's
# first byte arrives: the file lives by its descriptor, so no death from here on can leave anything behind.
set -f
umask 077
say() { echo; echo "rushhour-session/1 $*"; }
fail() { say error "$@"; exit 1; }

found=$(uname -sm)
[ "$found" = "Linux $machine" ] || fail machine "$found"

folder=
clean() { [ -z "$folder" ] || rm -rf "$folder"; folder=; }
trap clean EXIT
trap 'exit 1' HUP INT PIPE TERM

roomy() {
    df -Pk "$1" 2>/dev/null | { read -r _; read -r _ _ _ room _; [ "${room:-999999999}" -ge $((size / 1024 + 64)) ]; }
}
usable() {
    folder=$(mktemp -d "$1/rushhour.XXXXXX" 2>/dev/null) || { why="not writable"; return 1; }
    roomy "$folder" || { why="no room"; return 1; }
    { echo '#!/bin/sh' > "$folder/agent" && chmod 700 "$folder/agent"; } 2>/dev/null || { why="full"; return 1; }
    "$folder/agent" 2>/dev/null || { why="mounted noexec"; return 1; }
}
tried=
for base in "$XDG_RUNTIME_DIR" /dev/shm /tmp "$HOME/.cache" /var/tmp; do
    [ -n "$base" ] && [ -d "$base" ] || continue
    usable "$base" && break
    tried="$tried, $base $why"
    clean
done
[ -n "$folder" ] || fail place "${tried#, }"
exec 3> "$folder/agent" 4< "$folder/agent"
clean

if command -v gzip > /dev/null; then
    say send packed
    head -c "$packed" | gzip -dc >&3 2> /dev/null || fail room
else
    say send plain
    head -c "$size" >&3 2> /dev/null || fail room
fi
exec 3>&-
got=$(wc -c < /proc/self/fd/4)
[ "$got" -eq "$size" ] || fail short "$got"
unchecked=
if command -v sha256sum > /dev/null; then
    got=$(sha256sum < /proc/self/fd/4)
    [ "${got%% *}" = "$digest" ] || fail damaged
else
    unchecked=unchecked
fi
got=$(/proc/self/fd/4 --version 2>&1 < /dev/null) || fail exec $got

if [ "$sudo" = yes ]; then
    got=$(sudo -n "/proc/$$/fd/4" --version 2>&1 < /dev/null) || fail sudo $got
    say ready $unchecked
    # sudo closes descriptors: this shell keeps the file alive.
    sudo -n "/proc/$$/fd/4" serve --patience "$patience"
    exit
fi
say ready $unchecked
exec /proc/self/fd/4 serve --patience "$patience"

# What a guest's bash reads before its script (BASH_ENV): `sysctl -q NAME=VALUE ...` without a program. To start one takes a
# virtual kernel 13 ms of this machine's time, and scripts begin with thirty. All else, and whatever fails, is the program's.
sysctl() {
    local word path
    if [[ $1 != -q || $# -lt 2 ]]; then
        command sysctl "$@"
        return
    fi
    for word in "${@:2}"; do
        path=/proc/sys/${word%%=*}
        path=${path//.//}
        if [[ ! $word =~ ^[a-z0-9_.]+=[^[:space:]] || ! -w $path ]] || ! { echo "${word#*=}" >"$path"; } 2>/dev/null; then
            command sysctl "$@"
            return
        fi
    done
}

# The first process of a host: mounts of its own, a name, an sshd; it ends with its standard input.
# Words: the name, the folder for its keys and log, its boot_id ("" for this machine's), folders that stay to be
# seen where they are (with a colon between two, "" for none), users (NAME:SHELL …).
set -eu
name=$1 folder=$2 boot=$3 kept=$4
shift 4
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /run/bed
mount --bind "$folder" /run/bed
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null || true
IFS=:
number=0
for each in $kept; do
    number=$((number + 1))
    mkdir -p "/run/kept/$number"
    mount --bind "$each" "/run/kept/$number"
done
unset IFS
for each in /tmp /var/tmp /dev/shm /home /root; do mount -t tmpfs -o mode=1777 tmpfs "$each"; done
IFS=:
number=0
for each in $kept; do
    number=$((number + 1))
    mkdir -p "$each"
    mount --bind "/run/kept/$number" "$each"
    umount "/run/kept/$number"
    rmdir "/run/kept/$number"
done
unset IFS
[ ! -d /run/kept ] || rmdir /run/kept
if [ -n "$boot" ]; then
    echo "$boot" > /run/bed/boot_id
    mount --bind /run/bed/boot_id /proc/sys/kernel/random/boot_id
fi
cp /etc/passwd /run/bed/passwd
number=4000
for user in "$@"; do
    echo "${user%%:*}:*:$number:$number::/home/${user%%:*}:${user#*:}" >> /run/bed/passwd
    mkdir -m 700 "/home/${user%%:*}"
    chown "$number:$number" "/home/${user%%:*}"
    number=$((number + 1))
done
mount --bind /run/bed/passwd /etc/passwd
hostname "$name"
ip link set lo up
/usr/sbin/sshd -D -E /run/bed/log -f /run/bed/sshd_config &
echo ready
cat > /dev/null

# The first process of a host: mounts of its own, a name, an sshd; it ends with its standard input.
# Words: the name, the folder for its keys and log, its boot_id ("" for this machine's), a folder that stays to be
# seen where it is ("" for none), users (NAME:SHELL …).
set -eu
name=$1 folder=$2 boot=$3 kept=$4
shift 4
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /run/bed
mount --bind "$folder" /run/bed
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null || true
if [ -n "$kept" ]; then
    mkdir /run/kept
    mount --bind "$kept" /run/kept
fi
for each in /tmp /var/tmp /dev/shm /home /root; do mount -t tmpfs -o mode=1777 tmpfs "$each"; done
if [ -n "$kept" ]; then
    mkdir -p "$kept"
    mount --bind /run/kept "$kept"
    umount /run/kept
    rmdir /run/kept
fi
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

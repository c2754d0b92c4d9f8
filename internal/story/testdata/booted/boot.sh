#!/bin/sh
# boot.sh STAGED HOST: boots systemd in namespaces of its own, over the programs of this
# machine and the files in STAGED, until systemd says that it is over. HOST is /host inside.
# Nothing of this machine is changed. It says "cannot boot" where that is not possible.
set -eu
staged=$1 host=$2
name=dragoman-boot-$$
older=
if [ -d /sys/fs/cgroup/memory ] && [ -d /sys/fs/cgroup/pids ]; then older="systemd memory pids"; fi
for tree in ${older:-.}; do
	mkdir -p "/sys/fs/cgroup/$tree/$name" 2>/dev/null || continue
	[ -n "$older" ] || echo "+memory +pids" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
	echo $$ >"/sys/fs/cgroup/$tree/$name/cgroup.procs" || true
done
leave() {
	for tree in ${older:-.}; do
		echo $$ >"/sys/fs/cgroup/$tree/cgroup.procs" 2>/dev/null || true
		find "/sys/fs/cgroup/$tree/$name" -depth -type d -exec rmdir {} \; 2>/dev/null || true
	done
}
trap leave EXIT
root=$host/root
mkdir -p "$root"
export staged host root older
unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child --propagation private sh -eu -c '
cannot() { echo "cannot boot: $1"; exit 77; }
mount -t tmpfs -o mode=755 memory "$root" && mkdir "$root/up" "$root/work" "$root/root" || cannot "no file system in memory"
root=$root/root
mount -t overlay -o "lowerdir=/,upperdir=$root/../up,workdir=$root/../work" over "$root" || cannot "no overlay"
cp -a "$staged/." "$root/"
mount -t proc proc "$root/proc" && mount -t sysfs -o ro sys "$root/sys" || cannot "no proc or sys"
for at in run tmp dev; do mount -t tmpfs -o mode=755 "$at" "$root/$at"; done
chmod 1777 "$root/tmp"
for d in null zero full random urandom tty; do : >"$root/dev/$d"; mount --bind "/dev/$d" "$root/dev/$d"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
words="systemd.unit=booted.target"
if [ -n "$older" ]; then
	words="$words systemd.unified_cgroup_hierarchy=0 SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"
	mount -t tmpfs -o mode=755 groups "$root/sys/fs/cgroup"
	for tree in $older; do
		mkdir "$root/sys/fs/cgroup/$tree"
		kind=$tree
		[ "$tree" != systemd ] || kind=none,name=systemd
		mount -t cgroup -o "$kind" "$tree" "$root/sys/fs/cgroup/$tree" || cannot "no control groups ($tree)"
	done
else
	mount -t cgroup2 groups "$root/sys/fs/cgroup" || cannot "no control groups"
fi
systemd-sysusers --root="$root" dragoman.conf && systemd-tmpfiles --root="$root" --create dragoman.conf
mkdir "$root/host"
mount --bind "$host" "$root/host"
cd "$root"
pivot_root . mnt
umount -l /mnt
export container=test SYSTEMD_PROC_CMDLINE="$words"
exec /lib/systemd/systemd --system --log-target=console --log-level=warning --show-status=no </dev/null
'

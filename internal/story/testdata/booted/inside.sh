#!/bin/sh
# What the test does inside of the booted system, as root. /host/ended says that it came to
# its end; everything else that it writes there is looked at outside.
set -u
if ! [ -d /sys/fs/cgroup/memory ] && ! grep -qs memory /sys/fs/cgroup/cgroup.controllers; then
	# Without limits the unit runs nothing: try what the rest of it closes.
	mkdir -p /run/systemd/system/dragoman-exec@.service.d
	printf '[Service]\nExecStart=\nExecStart=/usr/local/bin/dragoman sandbox-exec unbounded\n' >/run/systemd/system/dragoman-exec@.service.d/unbounded.conf
	systemctl daemon-reload
	touch /host/no-limits
fi
systemctl start dragoman-exec.socket dragoman-mcp.socket >/host/sockets 2>&1
systemctl start escapes.service >/host/escapes.start 2>&1
systemctl start dragoman.service >/host/daemon.start 2>&1
dragoman mcp test echo >/host/server 2>&1
cat /var/lib/dragoman-mcp/echo/saw >/host/saw
dragoman status >/host/status 2>&1
systemctl stop dragoman.service
touch /host/ended

package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is a user of this machine with its main group.
type account struct {
	user, group uint32
}

// serviceName is the user and the group of the machine's service.
const serviceName = "dragoman"

// daemonOf is the account that the daemon of this configuration has. A command may be
// run by another one: "sudo dragoman check" is root's.
func (o Options) daemonOf(stateDir, file string) account {
	info, err := os.Stat(stateDir)
	if err == nil {
		return ownerOf(info)
	}
	self := account{uint32(os.Geteuid()), uint32(os.Getegid())}
	if filepath.Dir(file) != o.System {
		return self
	}
	service, err := user.Lookup(serviceName) // before its first start
	if err != nil {
		return self
	}
	uid, uerr := strconv.ParseUint(service.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(service.Gid, 10, 32)
	if uerr != nil || gerr != nil {
		return self
	}
	return account{uint32(uid), uint32(gid)}
}

func ownerOf(info os.FileInfo) account {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return account{}
	}
	return account{s.Uid, s.Gid}
}

// readers warns if somebody else than root, the file's owner and the daemon can read
// the file at path. The cure must leave it readable for the daemon.
func (v *validator) readers(path string, daemon account) {
	info, err := os.Stat(path)
	if err != nil {
		return // the file was just read, so it was removed since
	}
	owner := ownerOf(info)
	mode := info.Mode().Perm()
	everybody := mode&0o004 != 0
	foreign := mode&0o040 != 0 && owner.group != daemon.group
	if !everybody && !foreign || !reachable(path, owner.group, everybody) {
		return
	}
	cure := "chmod 600 it"
	if owner.user != daemon.user {
		cure = "chmod 640 it"
		if owner.group != daemon.group {
			cure = fmt.Sprintf("chgrp %s and chmod 640 it", groupName(daemon.group))
		}
	}
	v.warn("", "other users of this machine can read this file, and it holds a secret", cure+", or use ${file:…}")
}

// reachable reports whether the folders above path let everybody through or, if the
// file is only for a group, that group.
func reachable(path string, group uint32, everybody bool) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return true
		}
		mode := info.Mode().Perm()
		through := mode&0o001 != 0
		if !everybody && ownerOf(info).group == group {
			through = mode&0o010 != 0
		}
		if !through {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// groupName is the name of a group, or its number if it has none.
func groupName(id uint32) string {
	number := strconv.FormatUint(uint64(id), 10)
	found, err := user.LookupGroupId(number)
	if err != nil {
		return number
	}
	return found.Name
}

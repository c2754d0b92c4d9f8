package app

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"dragoman/internal/config"
)

const (
	// turnBytes is the most memory that a turn needs while it waits for its model:
	// a thousand took 81 MB.
	turnBytes = 128 << 10
	// mostTurns and fewTurns bound the automatic agent.max_turns.
	mostTurns, fewTurns = 1000, 64
)

// maxTurns is how many turns run at once. If the configuration leaves it open, they
// may use an eighth of the memory, in bytes. A near model is on this machine: it
// answers a few requests at a time, and more would only time out in its queue.
func maxTurns(c *config.Config, near bool, memory uint64) int {
	switch {
	case c.Agent.MaxTurns > 0:
		return c.Agent.MaxTurns
	case near:
		return fewTurns
	}
	return int(min(mostTurns, max(fewTurns, memory/8/turnBytes)))
}

// memoryLimit is how much memory this process may use, in bytes: the least of the
// machine's memory, the limit of the control group (version 2) and GOMEMLIMIT, or
// math.MaxInt64 if none is known.
func memoryLimit() uint64 {
	limit := uint64(debug.SetMemoryLimit(-1))
	if own, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		_, group, _ := bytes.Cut(own, []byte("0::"))
		// A container sees its own group as the root.
		for at := filepath.Clean("/" + strings.TrimSpace(string(group))); ; at = filepath.Dir(at) {
			limit = min(limit, bytesIn(filepath.Join("/sys/fs/cgroup", at, "memory.max"), "", 1))
			if at == "/" {
				break
			}
		}
	}
	return min(limit, bytesIn("/proc/meminfo", "MemTotal:", 1024))
}

// bytesIn is the number after name in the file at path, times unit.
func bytesIn(path, name string, unit uint64) uint64 {
	text, err := os.ReadFile(path)
	_, rest, found := strings.Cut(string(text), name)
	if fields := strings.Fields(rest); err == nil && found && len(fields) > 0 {
		if n, err := strconv.ParseUint(fields[0], 10, 64); err == nil { // "max" is none
			return n * unit
		}
	}
	return math.MaxInt64
}

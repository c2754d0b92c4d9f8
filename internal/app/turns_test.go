package app

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"dragoman/internal/config"
)

func TestMaxTurns(t *testing.T) {
	for _, tt := range []struct {
		configured int
		near       bool
		memory     uint64
		want       int
	}{
		{0, false, 128 << 20, 128},
		{0, false, 32 << 20, 64},
		{0, false, 512 << 20, 512},
		{0, false, 24 << 30, 1000},
		{0, false, math.MaxInt64, 1000},
		{0, true, 24 << 30, 64},
		{7, true, 24 << 30, 7},
		{5000, false, 1 << 20, 5000},
	} {
		c := &config.Config{Agent: config.Agent{MaxTurns: tt.configured}}
		if got := maxTurns(c, tt.near, tt.memory); got != tt.want {
			t.Errorf("maxTurns(%d, near %t, %d MiB) = %d, want %d", tt.configured, tt.near, tt.memory>>20, got, tt.want)
		}
	}
}

// The machine's memory is read, and a file that says nothing limits nothing.
func TestMemoryLimit(t *testing.T) {
	if got := memoryLimit(); got < 16<<20 || got > 1<<50 {
		t.Errorf("memoryLimit = %d bytes", got)
	}
	path := filepath.Join(t.TempDir(), "memory.max")
	for text, want := range map[string]uint64{"max\n": math.MaxInt64, "536870912\n": 512 << 20, "": math.MaxInt64} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := bytesIn(path, "", 1); got != want {
			t.Errorf("of %q: %d, want %d", text, got, want)
		}
	}
}

func TestShortPath(t *testing.T) {
	for _, tt := range []struct{ home, path, want string }{
		{"/home/ann", "/home/ann/.local/state/dragoman/workspace", "~/.local/state/dragoman/workspace"},
		{"/home/ann", "/srv/work", "/srv/work"},
		{"/var/lib/dragoman", "/var/lib/dragoman/workspace", "/var/lib/dragoman/workspace"}, // the service
	} {
		t.Setenv("HOME", tt.home)
		if got := shortPath(tt.path, "/var/lib/dragoman"); got != tt.want {
			t.Errorf("at %s, shortPath(%s) = %s, want %s", tt.home, tt.path, got, tt.want)
		}
	}
}

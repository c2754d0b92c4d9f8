package config_test

import (
	"path/filepath"
	"testing"

	"dragoman/internal/config"
)

func TestSizesInMB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	for text, want := range map[string]config.Size{"1MB": 1e6, "2 kB": 2e3, "1MiB": 1 << 20} {
		write(t, path, "queue: {max_message_bytes: "+text+"}\n")
		c, _, err := config.Load(options(t, path))
		if err != nil || c.Queue.MaxMessageBytes != want {
			t.Errorf("%s = %v, %v, want %d bytes", text, c, err, want)
		}
	}
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/internal/app"
	"dragoman/internal/config"
)

// A configuration with a secret is warned about if somebody can read it who is neither
// its owner nor the daemon, and what the warning asks for leaves the daemon able to read it.
func TestReaders(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	const (
		root   = 0
		daemon = 990
		other  = 991
	)
	for name, test := range map[string]struct {
		folder       os.FileMode
		folderGroup  int
		owner, group int
		mode         os.FileMode
		want         string // of the warning; "": none
	}{
		"as it is installed":              {0o750, daemon, root, daemon, 0o640, ""},
		"the daemon's own":                {0o755, root, daemon, daemon, 0o600, ""},
		"the daemon's own, with its team": {0o755, root, daemon, daemon, 0o660, ""},
		"open, in a closed folder":        {0o750, daemon, root, root, 0o644, ""},
		"a group that cannot get there":   {0o750, daemon, root, other, 0o640, ""},
		"everybody, root's":               {0o755, root, root, daemon, 0o644, "chmod 640 it, or"},
		"everybody, root's own group":     {0o755, root, root, root, 0o644, "chgrp 990 and chmod 640 it"},
		"everybody, the daemon's":         {0o755, root, daemon, daemon, 0o644, "chmod 600 it"},
		"another group":                   {0o755, root, daemon, other, 0o640, "chmod 600 it"},
		"another group, let through":      {0o750, other, root, other, 0o640, "chgrp 990 and chmod 640 it"},
		"root's group is not the service": {0o755, root, root, root, 0o640, "chgrp 990 and chmod 640 it"},
		"closed to all but root":          {0o755, root, root, root, 0o600, ""},
	} {
		t.Run(name, func(t *testing.T) {
			// /tmp itself, because the folders of t.TempDir may be closed.
			top, err := os.MkdirTemp("/tmp", "readers")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(top) })
			state, folder := filepath.Join(top, "state"), filepath.Join(top, "etc")
			file := filepath.Join(folder, "config.yaml")
			text := "state_dir: " + state + "\nmodel: {base_url: 'http://127.0.0.1:1/v1', name: x, api_key: sk-live-1234567890}\n"
			for _, err := range []error{
				os.Chmod(top, 0o755),
				os.Mkdir(state, 0o700), os.Chown(state, daemon, daemon),
				os.Mkdir(folder, 0o755), os.WriteFile(file, []byte(text), 0o600),
				os.Chown(file, test.owner, test.group), os.Chmod(file, test.mode),
				os.Chown(folder, root, test.folderGroup), os.Chmod(folder, test.folder),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			c, _, err := config.Load(config.Options{Path: file, Types: app.Types(), Home: top, Dir: top, Env: func(string) (string, bool) { return "", false }})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, w := range c.Warnings() {
				if strings.Contains(w.What, "can read this file") {
					got = w.Want
				}
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("the warning says %q, want %q", got, test.want)
			}
		})
	}
}

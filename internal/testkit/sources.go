package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Sources looks at every file that the program can be built from, for tests in
// a folder two levels below the module's root. Tests of the built program call
// it first: go test remembers what a running test looked at, and after a change
// of that does not take the result from before. Importing the packages would
// not do, because what a test does not call is not linked into it.
func Sources(t testing.TB) {
	t.Helper()
	if err := sources(); err != nil {
		t.Fatalf("testkit: look at the sources: %v", err)
	}
}

var sources = sync.OnceValue(func() error {
	const root = "../.."
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
})

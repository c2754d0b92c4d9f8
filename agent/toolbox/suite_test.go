package toolbox_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runsCalls is the method by which a type is a tool.
var runsCalls = regexp.MustCompile(`(?m)^func \([^)]*\) Run\((?:\w+ )?context\.Context, (?:\w+ )?(?:agent\.)?Call\) \(.*string,.*error\)`)

// wrappers run another tool's calls, and are none of their own.
var wrappers = []string{"internal/app"}

// Each package that has tools has them pass the suite of all tools.
func TestEveryToolPassesTheSuite(t *testing.T) {
	found := 0
	for _, dir := range []string{"agent", "channels", "cmd", "heartbeat", "internal", "sessions"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			has, tried := false, false
			files, err := filepath.Glob(filepath.Join(path, "*.go"))
			if err != nil {
				return err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				if strings.HasSuffix(file, "_test.go") {
					tried = tried || strings.Contains(string(text), "toolboxtest.Run(")
				} else {
					has = has || runsCalls.Match(text)
				}
			}
			short := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			if !has || strings.HasSuffix(short, "test") {
				return nil
			}
			for _, w := range wrappers {
				if short == w {
					return nil
				}
			}
			found++
			if !tried {
				t.Errorf("%s has a tool that does not pass toolboxtest.Run", short)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 4 {
		t.Errorf("only %d packages with tools were found", found)
	}
}

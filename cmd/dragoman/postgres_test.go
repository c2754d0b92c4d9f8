//go:build !nopostgres

package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"dragoman/internal/testkit/pgtest"
)

// TestPostgres tells stories like TestScripts does, each with an empty database.
func TestPostgres(t *testing.T) {
	t.Cleanup(pgtest.Stop)
	stories, err := filepath.Glob("testdata/postgres/*.txtar")
	if err != nil || len(stories) == 0 {
		t.Fatalf("stories: %v, %v", stories, err)
	}
	for _, story := range stories {
		t.Run(filepath.Base(story), func(t *testing.T) {
			url := pgtest.Database(t, "", "")
			testscript.Run(t, testscript.Params{
				Files: []string{story},
				Setup: func(env *testscript.Env) error {
					env.Setenv("HOME", env.WorkDir)
					env.Setenv("XDG_STATE_HOME", "")
					env.Setenv("XDG_CONFIG_HOME", "")
					env.Setenv("DATABASE", url)
					return layExamples(filepath.Join(env.WorkDir, "examples"))
				},
			})
		})
	}
}

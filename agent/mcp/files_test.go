package mcp_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// What a command runs is watched, wherever it is named, and what it reads is not.
func TestProgramFiles(t *testing.T) {
	at := t.TempDir()
	home := filepath.Join(at, "home")
	for _, name := range []string{"home/rel.js", "home/sub/app.py", "node", "server", "abs.js", "hook.js", "data.json", "a.jar", "pkg/index.js", "pkg/package.json", "mod/node_modules/x/cli.js", "mod/node_modules/.package-lock.json"} {
		path := filepath.Join(at, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("mod/node_modules/x/cli.js", filepath.Join(at, "linked")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", at+":/usr/bin:/bin")
	for command, want := range map[string]string{
		"server AT/data.json --config=AT/data.json":            "server",
		"AT/server AT/data.json":                               "server",
		"linked":                                               "linked mod/node_modules/.package-lock.json",
		"AT/mod/node_modules/x/cli.js x":                       "mod/node_modules/.package-lock.json mod/node_modules/x/cli.js",
		"node rel.js AT/data.json":                             "home/rel.js node",
		"node --inspect AT/abs.js AT/data.json --x=AT/hook.js": "abs.js node",
		"node --require AT/hook.js --import=AT/a.jar rel.js":   "a.jar home/rel.js hook.js node",
		"node --env-file=AT/data.json --title x ./rel.js":      "home/rel.js node",
		"node AT/pkg AT/data.json":                             "node pkg/index.js pkg/package.json",
		"node -e AT/data.json":                                 "node",
		"sh AT/server AT/data.json":                            "server",
		"sh -e AT/server":                                      "server",
		"bash -lc AT/server":                                   "",
		"env A=b node rel.js data":                             "home/rel.js",
		"env AT/server AT/data.json":                           "server",
		"/bin/sh missing.sh AT/data.json":                      "",
		"../server AT/data.json":                               "server",
		"cat AT/data.json":                                     "/usr/bin/cat",
		"nothing-of-that-name AT/data.json":                    "",
		"sh run rel.js":                                        "home/rel.js",
	} {
		files, err := mcp.ProgramFiles(strings.Fields(strings.ReplaceAll(command, "AT", at)), home)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		var got []string
		for _, path := range slices.Sorted(maps.Keys(files)) {
			got = append(got, strings.Replace(strings.TrimPrefix(path, at+"/"), "/bin/cat", "/usr/bin/cat", 1))
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(strings.Join(got, " "), "/usr/usr/", "/usr/")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
	for _, command := range []string{"sh rel.sh", "sh -x ./rel.sh data", "../server"} {
		files, err := mcp.ProgramFiles(strings.Fields(command), "")
		if err == nil && len(files) > 0 || err != nil && !strings.Contains(err.Error(), "the daemon cannot look at rel.sh") {
			t.Errorf("as another user, %s: %v, %v", command, files, err)
		}
	}
}

// A server goes on when its data change, and ends when its script does, or its program.
func TestChangedProgram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	script := filepath.Join(home, "bad", "run.sh")
	data := filepath.Join(home, "bad", "data.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	write(script, "exec '"+strings.Join(mcptest.Command("good"), "' '")+"'\n")
	write(data, "{}")
	server := mcp.Server{Name: "bad", Command: []string{"/bin/sh", "run.sh", data}}
	store := &notes{}
	try := func() error {
		pool := mcp.New([]mcp.Server{server}, store, mcp.Options{Home: home})
		defer pool.Close()
		pool.Tools(t.Context())
		_, err := say(t, pool, "bad__echo", "still here")
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	write(data, `{"changed": true}`)
	if err := try(); err != nil {
		t.Errorf("after its data changed: %v", err)
	}
	write(script, "exec '"+strings.Join(mcptest.Command("good"), "' '")+"' # changed\n")
	if err := try(); err == nil || !strings.Contains(err.Error(), "(run.sh)") {
		t.Errorf("after its script changed: %v, want that it is not started", err)
	}
}

// What a test finds, the status says, too, and nobody is offered what has changed.
func TestStatusAfterTest(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	later := filepath.Join(home, "later")
	script := filepath.Join(home, "run.sh")
	run := func(args ...string) {
		t.Helper()
		if err := os.WriteFile(script, []byte("exec '"+strings.Join(args, "' '")+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status := func(pool *mcp.Pool) string {
		s := pool.Status(t.Context())[0]
		return fmt.Sprint(s.State, " ", s.Why, s.Waiting)
	}
	run(mcptest.Command("rug", later)...)
	pool := open(t, &notes{}, mcp.Options{Home: home, Idle: time.Millisecond}, mcp.Server{Name: "bad", Command: []string{"/bin/sh", script}})
	must(t, pool, "bad__work")
	if err := os.Mkdir(later, 0o700); err != nil {
		t.Fatal(err)
	}
	report, err := pool.Test(t.Context(), "bad")
	if err != nil {
		t.Fatal(err)
	}
	if got, tools := status(pool), offered(t, pool); !strings.Contains(got, "[bad__extra bad__work]") || strings.Contains(tools, "bad__work") {
		t.Errorf("after a test that saw other tools, the status is %s, and offered are %q", got, tools)
	}
	if err := pool.Accept(t.Context(), "bad", report.Digest); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the server to end, which nobody uses", func() bool { return pool.Status(t.Context())[0].State != mcp.StateRunning })
	run(append(mcptest.Command("rug", later), "changed")...)
	if _, err := pool.Test(t.Context(), "bad"); err != nil {
		t.Fatal(err)
	}
	if got := status(pool); !strings.HasPrefix(got, "failed files of its program have changed") || !strings.Contains(got, "run.sh") {
		t.Errorf("after a test with another script, the status is %s", got)
	}
	run("/nothing/there")
	if _, err := pool.Test(t.Context(), "bad"); err == nil || !strings.HasPrefix(status(pool), "failed its program ended") {
		t.Errorf("after a test that failed (%v), the status is %s", err, status(pool))
	}
}

// Whatever a command is, only what it names is watched, and nothing ends the program.
func FuzzProgramFiles(f *testing.F) {
	home := f.TempDir()
	for _, name := range []string{"a.js", "b"} {
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Add("node --require=a.js -r b a.js")
	f.Add("env A=b uv --directory . run sh -lc a.js")
	f.Add("java -jar b -cp a.js")
	f.Fuzz(func(t *testing.T, line string) {
		command := strings.Split(line, " ")
		files, err := mcp.ProgramFiles(command, home)
		for path := range files {
			if strings.HasPrefix(path, home) && !strings.Contains(line, filepath.Base(path)) {
				t.Errorf("%q: %s is watched, %v", command, path, err)
			}
		}
		if _, err := mcp.ProgramFiles(command, ""); err != nil && strings.HasPrefix(line, "/") && !strings.Contains(line, " ") {
			t.Errorf("%q: %v", command, err)
		}
	})
}

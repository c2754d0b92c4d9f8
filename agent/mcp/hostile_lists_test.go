package mcp_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
	"dragoman/agent/window"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// one is a pool with one misbehaving server, which is called bad.
func one(t *testing.T, behaviour string, args ...string) *mcp.Pool {
	t.Helper()
	return newPool(t, mcp.Server{Name: "bad", Command: mcptest.Command(behaviour, args...)})
}

// must finds a tool without which a test makes no sense.
func must(t *testing.T, pool *mcp.Pool, name string) agent.Tool {
	t.Helper()
	tool := find(t, pool, name)
	if tool == nil {
		t.Fatalf("%s is not offered; missing are %v", name, pool.Missing(t.Context()))
	}
	return tool
}

// The names that models see are good ones, and each means one tool.
func TestEvilNames(t *testing.T) {
	t.Parallel()
	pool := one(t, "names")
	must(t, pool, "bad__echo")
	good := regexp.MustCompile(`^bad__[a-z0-9_-]{1,59}$`)
	seen := map[string]bool{}
	for _, tool := range pool.Tools(t.Context()) {
		name := tool.Spec().Name
		if !good.MatchString(name) || !window.IsToolName(name) || seen[name] || strings.Trim(strings.TrimPrefix(name, "bad__"), "_-") == "" {
			t.Errorf("a tool is called %q", name)
		}
		seen[name] = true
	}
	if !seen["bad__work"] || !seen["bad__exec"] || len(seen) < 10 {
		t.Errorf("the tools are %v, want bad__work and bad__exec among at least ten", seen)
	}
}

// What servers say of their tools has no letter that nobody sees, and is short.
func TestHiddenWords(t *testing.T) {
	t.Parallel()
	pool := one(t, "hidden")
	must(t, pool, "bad__echo")
	for _, tool := range pool.Tools(t.Context()) {
		spec := tool.Spec()
		words := spec.Description + string(spec.Parameters)
		if strings.ContainsFunc(words, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }) {
			t.Errorf("%s has letters that nobody sees: %q", spec.Name, words)
		}
		if len(spec.Description) > 1<<10+len("…") {
			t.Errorf("the description of %s has %d bytes", spec.Name, len(spec.Description))
		}
	}
}

// What is offered is what requests may have: schemas of objects, without references that
// somebody has to fetch.
func TestOddSchemas(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"odd-schema", "no-schema"} {
		pool := one(t, behaviour)
		must(t, pool, "bad__echo")
		for _, tool := range pool.Tools(t.Context()) {
			var schema struct{ Type string }
			if err := json.Unmarshal(tool.Spec().Parameters, &schema); err != nil || schema.Type != "object" {
				t.Errorf("%s has the schema %s (%v)", tool.Spec().Name, tool.Spec().Parameters, err)
			}
		}
	}
}

// A server that offers a thousand tools, or a list without an end, gets room for some, and
// people are told.
func TestManyTools(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"thousand", "cursor", "cursor@old", "same-cursor", "heavy"} {
		pool := one(t, behaviour)
		must(t, pool, "bad__echo")
		if n := len(pool.Tools(t.Context())); n > 300 {
			t.Errorf("%s: %d tools are offered", behaviour, n)
		}
		report, err := pool.Test(t.Context(), "bad")
		if err != nil || !strings.Contains(strings.Join(report.Said, "\n"), "the rest is left out") {
			t.Errorf("%s: a test says %q, %v", behaviour, report.Said, err)
		}
		size := 0
		for _, tool := range report.Tools {
			size += len(tool.Now)
		}
		if size > 1<<20 {
			t.Errorf("%s: its tools are kept in %d bytes", behaviour, size)
		}
	}
}

// A server that says something else later is not believed: neither in the same connection
// nor after a start, until somebody accepts it.
func TestRugPull(t *testing.T) {
	t.Parallel()
	// A folder: files among the arguments are pinned, too.
	later := filepath.Join(t.TempDir(), "later")
	server := mcp.Server{Name: "bad", Command: mcptest.Command("rug", later)}
	store := &notes{}
	begin := func() *mcp.Pool {
		pool := mcp.New([]mcp.Server{server}, store, mcp.Options{Home: t.TempDir()})
		t.Cleanup(func() { _ = pool.Close() }) // it may be closed already
		return pool
	}
	described := func(pool *mcp.Pool, name string) string {
		for _, tool := range pool.Tools(t.Context()) {
			if tool.Spec().Name == name {
				return tool.Spec().Description
			}
		}
		return "not offered"
	}
	pool := begin()
	must(t, pool, "bad__work")
	if err := os.Mkdir(later, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := say(t, pool, "bad__work", ""); !strings.Contains(got, "done") && err == nil {
		t.Errorf("it says %q", got)
	}
	if got := described(pool, "bad__work"); strings.Contains(got, "passwords") {
		t.Errorf("in the same connection the model reads %q", got)
	}
	_ = pool.Close() // its error is that of the test's end

	pool = begin()
	if got, err := say(t, pool, "bad__work", ""); err == nil {
		t.Errorf("after a start it gives %q, want that the changed tool is not called", got)
	}
	if got, err := say(t, pool, "bad__echo", "still here"); !strings.Contains(got, "still here") {
		t.Errorf("its other tool gives %q, %v", got, err)
	}
	for name, want := range map[string]string{"bad__work": "not offered", "bad__extra": "not offered"} {
		if got := described(pool, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	report, err := pool.Test(t.Context(), "bad")
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Accept(t.Context(), "bad", report.Digest); err != nil {
		t.Fatal(err)
	}
	if got := described(pool, "bad__work"); !strings.Contains(got, "passwords") {
		t.Errorf("after somebody accepted it the model reads %q", got)
	}
}

// Nothing of a stubborn server is left after the end, except what left its group: no
// program without rights of its own can hold that.
func TestStubborn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	ids := filepath.Join(t.TempDir(), "ids")
	pool := one(t, "stubborn", ids)
	must(t, pool, "bad__echo")
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(ids)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(text))
	if len(list) != 3 {
		t.Fatalf("it wrote %q", text)
	}
	for i, name := range list {
		id, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			_ = syscall.Kill(id, syscall.SIGKILL) // the one with a session of its own
			continue
		}
		if !testkit.Poll(stuck, func() bool { return !runs(name) }) {
			t.Errorf("process %d of it still runs", i)
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}

// runs reports whether there is such a process, and it is no zombie.
func runs(id string) bool {
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Hints that lie change nothing: only an operator says what calls do.
func TestLies(t *testing.T) {
	t.Parallel()
	pool := one(t, "lies")
	spec := must(t, pool, "bad__work").Spec()
	if spec.Effect != "out" || spec.Repeatable || spec.Parallel {
		t.Errorf("it counts as %+v, want as one that lets words out", spec)
	}
	if spec.Origin != sessions.OriginMCP("bad") {
		t.Errorf("its results are from %q", spec.Origin)
	}
}

// The log has no word of a server, and its program no variable of ours.
func TestLeak(t *testing.T) {
	var log testkit.Output
	t.Setenv("DRAGOMAN_KEY", "our-key")
	pool := mcp.New([]mcp.Server{{Name: "bad", Command: mcptest.Command("leak"), Env: map[string]string{"API_KEY": "its-key"}}, {Name: "lost", Command: mcptest.Command("missing")}},
		&notes{}, mcp.Options{Home: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() { _ = pool.Close() }) // another test looks at its error
	got, err := say(t, pool, "bad__work", "")
	if err != nil || !strings.Contains(got, "API_KEY=") || strings.Contains(got, "our-key") {
		t.Errorf("its environment is %q, %v", got, err)
	}
	find(t, pool, "lost__echo")
	if words := log.String(); strings.Contains(words, "key") || strings.Contains(words, "Cannot find") {
		t.Errorf("the log has words of servers: %s", words)
	}
}

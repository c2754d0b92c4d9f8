package erasure_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions/erasure"
)

// An act leaves two lines without names, an interrupted one leaves one. A line that a
// crash cut short does not spoil the next.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(`{"at":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	audit, k := erasure.Log{Path: path, Now: now}, channels.MustKey("telegram:123456")
	// printf %s telegram:123456 | sha256sum
	const sum = "8fdd794b795199df71a54689dd78d4e6fc57e851f5d656c91ab5d505ac52e893"
	want := `{"at":"20` + "\n"
	line := func(state string) {
		want += `{"at":"` + now().UTC().Format(time.RFC3339Nano) + `","action":"title","state":"` + state + `","targets":["` + sum + `"]}` + "\n"
	}
	see := func(when string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("the audit log %s (-want +got):\n%s", when, diff)
		}
	}
	for state, fault := range map[string]error{"done": nil, "failed": errors.New("no such thing")} {
		err := audit.Record("title", func() error {
			line("begun")
			see("while it is done")
			return fault
		}, k)
		line(state)
		if !errors.Is(err, fault) {
			t.Errorf("%s: %v, want %v", state, err, fault)
		}
		see("after it")
	}
}

// An act that cannot be logged is not done.
func TestLogCannotBeWritten(t *testing.T) {
	audit := erasure.Log{Path: filepath.Join(t.TempDir(), "none", "audit.log"), Now: now}
	err := audit.Record("title", func() error {
		t.Error("it is done")
		return nil
	}, channels.MustKey("telegram:123456"))
	if err == nil {
		t.Error("no error")
	}
}

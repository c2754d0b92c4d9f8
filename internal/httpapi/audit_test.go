package httpapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/internal/httpapi"
)

// What a person does leaves lines without a name, and the second begins one of
// its own even behind a line that a crash cut short.
func TestAuditOfWhatAPersonDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	note := httpapi.Audit(path, now)
	k := channels.MustKey("telegram:123456")
	if err := note("title", "begun", k); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, first[:len(first)-2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := note("title", "done", k); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// printf %s telegram:123456 | sha256sum
	const sum = "8fdd794b795199df71a54689dd78d4e6fc57e851f5d656c91ab5d505ac52e893"
	at := now().UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
	want := string(first[:len(first)-2]) + "\n" + `{"at":"` + at + `","action":"title","state":"done","targets":["` + sum + `"]}` + "\n"
	if string(got) != want {
		t.Errorf("the audit log is\n%s\nwant\n%s", got, want)
	}
}

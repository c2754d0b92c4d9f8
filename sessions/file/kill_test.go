package file_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/file"
	"dragoman/sessions/storetest"
)

// hurried writes documents and drops the log all the time, so that kills hit
// those moments too.
var hurried = file.Options{Settle: 5 * time.Millisecond, LogBytes: 50_000}

func openChild(ctx context.Context, path string) (sessions.Store, error) {
	return file.Open(ctx, path, hurried)
}

// TestCase40Kill: whatever is killed, nothing is lost, and nothing that a kill
// leaves behind is taken for damage.
func TestCase40Kill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	var log bytes.Buffer
	check := func(t *testing.T) {
		o := hurried
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s, err := file.Open(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "level=ERROR") {
			t.Fatalf("a kill was taken for damage:\n%s", log.String())
		}
		if damaged, err := file.Damaged(dir); err != nil || len(damaged) > 0 {
			t.Fatalf("Damaged = %v, %v", damaged, err)
		}
	}
	storetest.RunKills(t, dir, check, func(t *testing.T) sessions.Store { return openWith(t, dir, file.Options{}) })
	var drafts []string
	for _, sub := range []string{".", "conversations", "archive", "jobs", "log"} {
		found, _ := filepath.Glob(filepath.Join(dir, sub, "*.draft"))
		drafts = append(drafts, found...)
	}
	if len(drafts) > 0 {
		t.Errorf("drafts are left: %v", drafts)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		t.Errorf("no checkpoint was made: %v", err)
	}
}

package file_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/sessions/engine"
	"dragoman/sessions/file"
	"dragoman/sessions/storetest"
)

// hurried writes documents all the time, so that kills hit
// those moments too.
var hurried = file.Options{FlushInterval: 5 * time.Millisecond}

func openChild(ctx context.Context, path string) (*engine.Store, error) {
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
	storetest.RunKills(t, dir, check, func(t *testing.T) *engine.Store { return openWith(t, dir, file.Options{}) })
	var drafts []string
	for _, sub := range []string{".", "conversations", "archive", "jobs"} {
		found, _ := filepath.Glob(filepath.Join(dir, sub, "*.draft"))
		drafts = append(drafts, found...)
	}
	if len(drafts) > 0 {
		t.Errorf("drafts are left: %v", drafts)
	}
	if docs, err := filepath.Glob(filepath.Join(dir, "conversations", "*.json")); err != nil || len(docs) == 0 {
		t.Errorf("no documents were written: %v", err)
	}
}

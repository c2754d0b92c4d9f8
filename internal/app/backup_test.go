package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/app"
	"dragoman/internal/backup"
	"dragoman/internal/config"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/exchange"
)

// A backup that is made while messages flow is of one moment: what it holds
// comes out of it again, with the keys of a linked device, and a daemon on it
// answers what waited.
func TestBackupWhileMessagesFlow(t *testing.T) {
	t.Parallel()
	for _, store := range config.FileStores {
		t.Run(store, func(t *testing.T) {
			p := newPlace(t, "queue: {rate_per_minute: 0, max_waiting: 100}\nstore: {type: "+store+"}")
			r := p.run()
			device, err := sql.Open("sqlite", "file:"+p.state("wa.device.db")+"?_pragma=journal_mode(WAL)")
			if err != nil {
				t.Fatal(err)
			}
			defer device.Close()
			if _, err := device.Exec(`CREATE TABLE keys (key TEXT); INSERT INTO keys VALUES ('in the log only')`); err != nil {
				t.Fatal(err)
			}
			const rooms, each = 4, 15
			var talk sync.WaitGroup
			for room := range rooms {
				talk.Go(func() {
					c := r.page(fmt.Sprint("r", room))
					for i := range each {
						if err := c.Post(t.Context(), fmt.Sprintf("message-%d-%d", room, i), fmt.Sprint("message ", i)); err != nil {
							t.Errorf("Post = %v", err)
							return
						}
					}
				})
			}
			r.until("some messages", func() bool { return len(r.feed(r.page("r0"))) >= 4 })
			var out bytes.Buffer
			end, err := storage.Backup(t.Context(), p.config(), r.admin, storage.Caller{Version: "v-test"}, &out, nil)
			if err != nil {
				t.Fatalf("Backup = %v", err)
			}
			talk.Wait()
			r.stop()

			other := newPlace(t, "queue: {rate_per_minute: 0, max_waiting: 100}\nstore: {type: "+store+"}")
			file := filepath.Join(t.TempDir(), "backup")
			if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, err := storage.Restore(t.Context(), other.config(), storage.Caller{Version: "v-test"}, f, storage.RestoreOptions{}, func(exchange.Progress) {})
			if err != nil || got.End != end || got.Kept != "" || len(got.Devices) != 1 || got.Devices[0] != "wa" {
				t.Fatalf("Restore = %+v, %v, want %+v", got, err, end)
			}
			admin, release, err := app.Admin(t.Context(), other.config(), storage.Caller{})
			if err != nil {
				t.Fatal(err)
			}
			restored := records(t, func(emit func(sessions.Record) error) error { return admin.Dump(t.Context(), nil, emit) })
			release()
			if backed := inBackup(t, out.Bytes()); backed != restored {
				t.Errorf("the restored store differs:\n%s\n\nthe backup has\n%s", restored, backed)
			}
			restoredDevice, err := sql.Open("sqlite", "file:"+other.state("wa.device.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer restoredDevice.Close()
			var key string
			if err := restoredDevice.QueryRow(`SELECT key FROM keys`).Scan(&key); err != nil || key != "in the log only" {
				t.Errorf("the device's key = %q, %v", key, err)
			}
			again := other.run()
			again.until("every message to be answered", func() bool {
				s := again.status()
				return s.QueueCounts != nil && s.Waiting == 0 && s.Unsent == 0
			})
		})
	}
}

// records are those that dump emits, as lines.
func records(t *testing.T, dump func(emit func(sessions.Record) error) error) string {
	t.Helper()
	var b strings.Builder
	if err := dump(func(r sessions.Record) error { return json.NewEncoder(&b).Encode(r) }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func inBackup(t *testing.T, b []byte) string {
	t.Helper()
	return records(t, func(emit func(sessions.Record) error) error {
		_, _, err := backup.Read(bytes.NewReader(b), backup.Target{Record: emit})
		return err
	})
}

// Files that come while the store is read are in the backup: a message that is in it may
// name them.
func TestBackupReadsRecordsFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	r.ask(r.page(""), "ping")
	names := []string{"media/aa/late", "media/bb/later", "late.txt", "deep/er/late.txt"}
	var fresh []string
	for _, name := range names {
		if strings.HasPrefix(name, "media") {
			fresh = append(fresh, p.state(name))
		} else {
			fresh = append(fresh, filepath.Join(p.config().Workspace, name))
		}
	}
	came := false
	var out bytes.Buffer
	_, err := storage.Backup(t.Context(), p.config(), r.admin, storage.Caller{}, &out, func(e backup.End) {
		if came || e.Records == 0 {
			return
		}
		came = true // the dump is of a moment before
		for _, path := range fresh {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("late"), 0o600)); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || !came {
		t.Fatalf("Backup = %v, with a file that came meanwhile: %t", err, came)
	}
	to := t.TempDir()
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, _, err := backup.Read(bytes.NewReader(out.Bytes()), backup.Target{Roots: map[string]*os.Root{"state": root, "workspace": root}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != "late" {
			t.Errorf("%s in the backup is %q, %v", name, text, err)
		}
	}
}

// A restore that is cut off leaves everything as it was.
func TestRestoreCutOff(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	r.ask(r.page(""), "ping")
	file := filepath.Join(t.TempDir(), "backup")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := storage.Backup(t.Context(), p.config(), r.admin, storage.Caller{}, f, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	r.stop()
	before, err := os.Stat(p.state("dragoman.db"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cut := context.WithCancel(t.Context())
	_, err = storage.Restore(ctx, p.config(), storage.Caller{Patience: time.Second}, f, storage.RestoreOptions{Replace: true}, func(exchange.Progress) { cut() })
	if err == nil {
		t.Fatal("a restore that is cut off = nil")
	}
	after, err := os.Stat(p.state("dragoman.db"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the store is another one: %v", err)
	}
	if left, _ := filepath.Glob(p.dir + "/state.*"); len(left) > 0 {
		t.Errorf("left beside it: %q", left)
	}
}

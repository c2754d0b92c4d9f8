package file

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions/engine"
	"dragoman/sessions/sqlite/sqlitetest"
)

// The hooks of the current test. Its stores may run while they change.
var (
	onSync atomic.Pointer[func(path string) error]
	onRead atomic.Pointer[func(path string) error]
)

func init() {
	closeTimeout = time.Minute // on a busy machine three seconds are too few
	system := fsync
	fsync = func(file *os.File) error {
		var err error
		if !strings.Contains(file.Name(), sqlitetest.Unsynced) {
			err = system(file)
		}
		if f := onSync.Load(); err == nil && f != nil {
			err = (*f)(file.Name())
		}
		return err
	}
	beforeReading = func(path string) error {
		if f := onRead.Load(); f != nil {
			return (*f)(path)
		}
		return nil
	}
}

// OnSync calls f after each fsync of a file or folder, until the test ends. The fsync
// returns f's error.
func OnSync(t *testing.T, f func(path string) error) {
	old := onSync.Swap(&f)
	t.Cleanup(func() { onSync.Store(old) })
}

// OnRead calls f before each archive is read, until the test ends. The read returns f's
// error.
func OnRead(t *testing.T, f func(path string) error) {
	old := onRead.Swap(&f)
	t.Cleanup(func() { onRead.Store(old) })
}

// Sync makes a file durable.
func Sync(f *os.File) error { return fsync(f) }

// FileName is the name, without an ending, of the files of k.
func FileName(k channels.Key) string { return fileName(k) }

// KeyOf returns the key whose FileName is name.
func KeyOf(name string) (channels.Key, bool) { return keyOf(name) }

// ParseDocument reads a document.
func ParseDocument(data []byte) error {
	_, err := parseDocument("it", data)
	return err
}

// ParseArchive reads an archive and counts its unreadable lines.
func ParseArchive(data []byte) (messages, bad int) {
	a := parseArchive(data)
	return len(a.Messages), a.bad
}

// ParseLine reads a line of the log of format 2.
func ParseLine(line []byte) error {
	_, err := parseLine(line)
	return err
}

// Flush writes the documents of all changed keys.
func Flush(s *engine.Store) error { return FlushIn(context.Background(), s) }

// FlushIn is Flush until ctx ends.
func FlushIn(ctx context.Context, s *engine.Store) error {
	_, err := s.Backend().(*backend).flush(ctx)
	return err
}

// Common is the content of store.json.
type (
	Common      = common
	Quarantined = quarantined
)

// Merge applies changes of the log of format 2 to into.
func Merge(into Common, changes ...Common) Common {
	into.Facts, into.Quarantined = slices.Clone(into.Facts), slices.Clone(into.Quarantined)
	for _, ch := range changes {
		into.add(ch)
	}
	return into
}

package file

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions/memory"
)

// What tests want to know. Stores of theirs may be at work while that changes.
var (
	onSync atomic.Pointer[func(path string) error]
	onRead atomic.Pointer[func(path string) error]
	onFree atomic.Pointer[func() int64]
)

func init() {
	system := fsync
	fsync = func(file *os.File) error {
		err := system(file)
		if told := onSync.Load(); err == nil && told != nil {
			err = (*told)(file.Name())
		}
		return err
	}
	room := free
	free = func(dir string) (int64, error) {
		if told := onFree.Load(); told != nil {
			return (*told)(), nil
		}
		return room(dir)
	}
	reading = func(path string) error {
		if told := onRead.Load(); told != nil {
			return (*told)(path)
		}
		return nil
	}
}

// OnSync has f, and nobody else, told about each file and folder once it was
// made durable, until the test ends. What the store does not make durable f
// does not hear of. Its error is that of the fsync.
func OnSync(t *testing.T, f func(path string) error) {
	old := onSync.Swap(&f)
	t.Cleanup(func() { onSync.Store(old) })
}

// Sync makes a file durable.
func Sync(f *os.File) error { return fsync(f) }

// FileName is the name, without an ending, of the files of k.
func FileName(k channels.Key) string { return fileName(k) }

// KeyOf reads what FileName wrote.
func KeyOf(name string) (channels.Key, bool) { return keyOf(name) }

// ParseDocument reads a document.
func ParseDocument(data []byte) error {
	_, err := parseDocument(data)
	return err
}

// ParseArchive reads an archive and counts lines that cannot be read.
func ParseArchive(data []byte) (messages, bad int) {
	a := parseArchive(data)
	return len(a.Messages), a.bad
}

// ParseLine reads a line of the log.
func ParseLine(line []byte) error {
	_, err := parseLine(line)
	return err
}

// ParseIndex reads an index.
func ParseIndex(data []byte) error {
	_, err := parseIndex(data)
	return err
}

// Settle writes the documents of all that changed.
func Settle(s *Store) error {
	_, err := s.settle(context.Background(), forever)
	return err
}

// Checkpoint brings all files up to the log and drops it.
func Checkpoint(s *Store) error { return s.checkpoint(context.Background()) }

// CheckpointIn is Checkpoint as long as ctx lasts.
func CheckpointIn(ctx context.Context, s *Store) error { return s.checkpoint(ctx) }

// Loaded is how many conversations are in memory after those were released
// that were not used since before.
func Loaded(s *Store, before time.Time) int { return s.Store.Release(before) }

// OnRead has f told about each archive before it is read, until the test ends.
func OnRead(t *testing.T, f func(path string)) {
	FailRead(t, func(path string) error {
		f(path)
		return nil
	})
}

// FailRead is OnRead for an f whose error is that of the reading.
func FailRead(t *testing.T, f func(path string) error) {
	old := onRead.Swap(&f)
	t.Cleanup(func() { onRead.Store(old) })
}

// Merge is into after changes.
func Merge(into memory.Common, changes ...memory.Common) memory.Common {
	s := memory.NewShared()
	for _, ch := range append([]memory.Common{into}, changes...) {
		s.Add(ch)
	}
	return s.All()
}

// OnFree has the store believe that there is so much room, until the test ends.
func OnFree(t *testing.T, f func() int64) {
	old := onFree.Swap(&f)
	t.Cleanup(func() { onFree.Store(old) })
}

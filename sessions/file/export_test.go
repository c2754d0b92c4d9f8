package file

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"dragoman/channels"
)

// What tests want to know. Stores of theirs may be at work while that changes.
var (
	onSync atomic.Pointer[func(path string) error]
	onRead atomic.Pointer[func(path string) error]
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

// OnRead has f told about each archive before it is read, until the test ends. Its
// error is that of the reading.
func OnRead(t *testing.T, f func(path string) error) {
	old := onRead.Swap(&f)
	t.Cleanup(func() { onRead.Store(old) })
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

// ParseLine reads a line of the log of format 2.
func ParseLine(line []byte) error {
	_, err := parseLine(line)
	return err
}

// Settle writes the documents of all that changed.
func Settle(s *Store) error { return SettleIn(context.Background(), s) }

// SettleIn is Settle as long as ctx lasts.
func SettleIn(ctx context.Context, s *Store) error {
	_, err := s.b.settle(ctx)
	return err
}

// Common is what belongs to no conversation.
type (
	Common      = common
	Quarantined = quarantined
)

// Merge is into after changes of the log of format 2.
func Merge(into Common, changes ...Common) Common {
	into.Facts, into.Quarantined = slices.Clone(into.Facts), slices.Clone(into.Quarantined)
	for _, ch := range changes {
		into.add(ch)
	}
	return into
}

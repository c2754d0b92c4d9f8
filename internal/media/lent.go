package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
)

// lentDir begins the names of files that are lent. It is not a key's folder, because the
// name of each of those has a "_".
const lentDir = "lent/"

// lent are files that somebody keeps for us while a turn runs. They are in memory only.
type lent struct {
	mu    sync.Mutex
	files map[string]*lentFile
}

// lentFile is one of them, and how often it is lent.
type lentFile struct {
	data  []byte
	times int
}

// Lend lets [Store.Open] read data, which must not change, until giveBack is called. It
// stores nothing. The name depends on the data alone, so that a prompt that contains it
// stays the same. The file counts for no limit: the caller bounds what is lent.
func (s *Store) Lend(data []byte) (file string, giveBack func()) {
	sum := sha256.Sum256(data)
	file = lentDir + hex.EncodeToString(sum[:8])
	s.lent.mu.Lock()
	defer s.lent.mu.Unlock()
	if s.lent.files == nil {
		s.lent.files = map[string]*lentFile{}
	}
	f := s.lent.files[file]
	if f == nil {
		f = &lentFile{data: data}
		s.lent.files[file] = f
	}
	f.times++
	return file, sync.OnceFunc(func() { s.lent.giveBack(file) })
}

func (l *lent) giveBack(file string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[file]
	f.times--
	if f.times == 0 {
		delete(l.files, file)
	}
}

// open opens a lent file, false if there is none of that name.
func (l *lent) open(file string) (io.ReadCloser, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[file]
	if f == nil {
		return nil, false
	}
	return io.NopCloser(bytes.NewReader(f.data)), true
}

// Package spool keeps values that may not fit into memory, such as the messages of an
// import until they are stored.
//
// The promise: At returns added values in any order and any number of times, until Close.
// The first values, up to a bound, stay in memory. The others are written as JSON to a file
// without a name, which is gone when the process ends, however it ends.
//
// Failures: if the file cannot be made or the disk is full, Add returns the error and the
// spool is useless. The package starts no goroutines.
package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Most is how many bytes a spool keeps in memory.
const Most = 1 << 20

// Spool holds values of one kind. It is not safe for concurrent use.
type Spool[T any] struct {
	dir    string
	values []located[T]
	held   int // bytes in memory
	file   *os.File
	size   int64
	buf    bytes.Buffer
}

// located is a value in memory, or its position in the file.
type located[T any] struct {
	held   *T
	at     int64
	length int
}

// New makes an empty spool. Its file, if it needs one, is in dir, or in the system's
// folder for temporary files if dir is "".
func New[T any](dir string) *Spool[T] { return &Spool[T]{dir: dir} }

// Len counts the added values.
func (s *Spool[T]) Len() int { return len(s.values) }

// Add adds v, which has about size bytes, and owns it from then on.
func (s *Spool[T]) Add(v T, size int) error {
	if s.held+size <= Most {
		s.held += size
		s.values = append(s.values, located[T]{held: &v})
		return nil
	}
	if s.file == nil {
		var err error
		if s.file, err = unnamed(s.dir); err != nil {
			return fmt.Errorf("spool: make a file: %w", err)
		}
	}
	s.buf.Reset()
	enc := json.NewEncoder(&s.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("spool: encode: %w", err)
	}
	if _, err := s.file.WriteAt(s.buf.Bytes(), s.size); err != nil {
		return fmt.Errorf("spool: write: %w", err)
	}
	s.values = append(s.values, located[T]{at: s.size, length: s.buf.Len()})
	s.size += int64(s.buf.Len())
	return nil
}

// At returns the i-th value, from 0. The caller must not change anything it points to.
func (s *Spool[T]) At(i int) (v T, err error) {
	p := s.values[i]
	if p.held != nil {
		return *p.held, nil
	}
	data := make([]byte, p.length)
	if _, err := s.file.ReadAt(data, p.at); err != nil {
		return v, fmt.Errorf("spool: read: %w", err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("spool: decode: %w", err)
	}
	return v, nil
}

// Close frees everything. The spool must not be used any more.
func (s *Spool[T]) Close() error {
	s.values = nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// unnamed makes a file without a name in dir.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".spool-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

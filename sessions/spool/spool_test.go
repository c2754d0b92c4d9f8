package spool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/sessions/spool"
)

type value struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

// Values that do not fit into memory come back from a file without a name.
func TestSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := spool.New[value](dir)
	text := strings.Repeat("<ü\u2028>", 100)
	const many = 20
	for i := range many {
		if i == many/2 { // it is empty, and no second file is made
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
		if err := s.Add(value{i, text}, spool.Most/5); err != nil {
			t.Fatal(err)
		}
	}
	if s.Len() != many {
		t.Errorf("%d values, want %d", s.Len(), many)
	}
	for range 2 {
		for i := many - 1; i >= 0; i-- {
			if got, err := s.At(i); err != nil || got != (value{i, text}) {
				t.Fatalf("At(%d) = %d, %v", i, got.N, err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSpoolWithoutAFile(t *testing.T) {
	s := spool.New[value](filepath.Join(t.TempDir(), "nowhere"))
	for i := range 3 {
		if err := s.Add(value{N: i}, spool.Most/3); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.At(2); err != nil || got.N != 2 {
		t.Errorf("At = %v, %v", got, err)
	}
	if err := s.Add(value{}, spool.Most); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Add = %v, want %v", err, fs.ErrNotExist)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

package spool_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"dragoman/sessions/spool"
)

type value struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

// What does not fit into memory comes back from a file that nobody sees.
func TestSpool(t *testing.T) {
	dir, made := t.TempDir(), 0
	s := spool.New[value](func() (*os.File, error) {
		made++
		return spool.Temp(dir)
	})
	text := strings.Repeat("<ü\u2028>", 100)
	const many = 20
	for i := range many {
		if i == 1 && made != 0 {
			t.Error("a file was made for what fits into memory")
		}
		if err := s.Add(value{i, text}, spool.Most/5); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 || s.Len() != many {
		t.Errorf("%d files for %d values", made, s.Len())
	}
	for range 2 {
		for i := many - 1; i >= 0; i-- {
			if got, err := s.At(i); err != nil || got != (value{i, text}) {
				t.Fatalf("At(%d) = %d, %v", i, got.N, err)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSpoolWithoutAFile(t *testing.T) {
	s := spool.New[value](nil)
	for i := range 3 {
		if err := s.Add(value{N: i}, spool.Most); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.At(2); err != nil || got.N != 2 {
		t.Errorf("At = %v, %v", got, err)
	}
	full := errors.New("no room")
	s = spool.New[value](func() (*os.File, error) { return nil, full })
	if err := s.Add(value{}, spool.Most+1); !errors.Is(err, full) {
		t.Errorf("Add = %v, want %v", err, full)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

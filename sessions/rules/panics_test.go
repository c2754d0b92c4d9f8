package rules_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/sessions/rules"
)

var errSecret = errors.New("secret words")

// A panic's error has the place and the runtime's words, and no chat text.
func TestPanic(t *testing.T) {
	caught := func(f func()) (err error) {
		defer func() { err = rules.Panic(recover()) }()
		f()
		return nil
	}
	var none []int
	for want, f := range map[string]func(){
		"panic: string\n":              func() { panic("secret words") },
		"panic: *errors.errorString\n": func() { panic(errSecret) },
		"index out of range [1]":       func() { _ = none[len("x")] },
	} {
		got := caught(f).Error()
		if !strings.Contains(got, want) || strings.Contains(got, "secret") || !strings.Contains(got, "panics_test.go") {
			t.Errorf("Panic = %q, want %q in it", got, want)
		}
	}
}

package personas_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/personas"
)

// read reads a file as the configuration does.
func read(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("is not UTF-8 text")
	}
	return string(data), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A prompt is read again when its file changes. What is no text changes nothing, and is said
// once.
func TestPromptOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "SOUL.md")
	write(t, file, "one")
	var log bytes.Buffer
	s := personas.New(personas.Plan{Personas: []personas.Source{{Persona: agent.Persona{Name: "pirate", System: "one", Model: "small"}, File: file}}},
		personas.Options{Read: read, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	first := s.Persona("pirate")
	if s.Persona("pirate") != first || first.System != "one" {
		t.Errorf("the persona is %+v, and another one without a change", first)
	}
	for _, step := range []struct {
		what, text, want string
		warnings         int
	}{
		{"another text", "two, longer", "two, longer", 0},
		{"no text", "\xff\xfe\xff", "two, longer", 1},
		{"still none", "\xff\xfe\xff\xfe", "two, longer", 1},
		{"an empty file", "", "two, longer", 1},
		{"a good text", "three", "three", 1},
		{"gone", "-", "three", 2},
		{"back", "four", "four", 2},
	} {
		if step.text == "-" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, file, step.text)
		}
		for range 3 {
			if got := s.Persona("pirate"); got.System != step.want || got.Model != "small" {
				t.Errorf("%s: the prompt is %q, want %q", step.what, got.System, step.want)
			}
		}
		if n := strings.Count(log.String(), "cannot be read again"); n != step.warnings {
			t.Errorf("%s: the log has %d warnings, want %d", step.what, n, step.warnings)
		}
	}
	if s.Persona("nobody") != nil {
		t.Error("there is a persona that nobody configured")
	}
}

// Who answers depends on what is bound and what was chosen.
func TestWhoAnswers(t *testing.T) {
	bound := func(k channels.Key) []string {
		switch k.Chat() {
		case "ship":
			return []string{"pirate", "dragoman"}
		case "kitchen":
			return []string{"dragoman", "cook"}
		}
		return nil
	}
	s := personas.New(personas.Plan{Bound: bound, Personas: []personas.Source{{Persona: agent.Persona{Name: "pirate"}}, {Persona: agent.Persona{Name: "cook"}}}}, personas.Options{})
	for _, tt := range []struct{ key, chosen, want string }{
		{"x:ship", "", "pirate"},
		{"x:ship", "dragoman", ""},
		{"x:ship", "cook", "pirate"},
		{"x:kitchen", "", ""},
		{"x:kitchen", "cook", "cook"},
		{"x:other", "", ""},
		{"x:other", "cook", "cook"},
		{"x:other", "gone", ""},
	} {
		if got := s.Of(channels.MustKey(tt.key), tt.chosen); got != tt.want {
			t.Errorf("in %s, where %q was chosen, %q answers, want %q", tt.key, tt.chosen, got, tt.want)
		}
	}
	s.Replace(personas.Plan{})
	if got := s.Of(channels.MustKey("x:ship"), "pirate"); got != "" || len(s.Names()) != 0 {
		t.Errorf("without any personas, %q answers of %q", got, s.Names())
	}
}

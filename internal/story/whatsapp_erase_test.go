package story_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/channels"
)

// words reports which of the words stand in any file of the state directory.
func (w *whatsapp) words(of ...string) (found []string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.state, "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // a folder, a socket, or one that has just gone
		}
		all = append(all, data...)
	}
	for _, word := range of {
		if bytes.Contains(all, []byte(word)) {
			found = append(found, word)
		}
	}
	return found
}

// Who is erased is erased from the device file too, by a daemon that runs and
// goes on, and without one. Somebody whom no channel of the configuration knows
// any more is found in the file that it left.
func TestWhatsAppErase(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.login()
	key := "whatsapp:" + w.ann.Number()
	erase := func(secret string) {
		t.Helper()
		id := w.ann.Say("the word is " + secret)
		w.eventually("an answer", func() bool { return strings.Contains(strings.Join(w.ann.Texts(), " "), secret) })
		if got := w.words(id, secret); len(got) != 2 {
			t.Fatalf("the files have only %q, want the message's id and its word", got)
		}
		if secret == "melon" {
			w.end(syscall.SIGTERM)
			w.house.configure(plan{})
		}
		out := w.dragoman("sessions", "erase", key, "--yes")
		if !strings.Contains(out, "Erased: 1 conversation, ") || !strings.Contains(out, ", 2 notes of channels.") {
			t.Errorf("sessions erase says\n%s", out)
		}
		if got := w.words(id, secret); got != nil {
			t.Errorf("the files still have %q", got)
		}
	}
	erase("lemon")
	w.reaches(condition{state: channels.StateConnected})
	erase("melon")
	audit, err := os.ReadFile(filepath.Join(w.state, "audit.log"))
	if err != nil || strings.Count(string(audit), `"noted":2`) != 2 {
		t.Errorf("audit.log has\n%s(%v), want that 2 notes went each time", audit, err)
	}
}

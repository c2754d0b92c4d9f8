package story_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/testkit"
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
	erase := func(secret string, answers int) (id string) {
		t.Helper()
		id = w.ann.Say("the word is " + secret)
		testkit.Eventually(w.t, "an answer", func() bool { return strings.Contains(strings.Join(w.ann.Texts(), " "), secret) })
		if got := w.words(id, secret); len(got) != 2 {
			t.Fatalf("the files have only %q, want the message's id and its word", got)
		}
		if secret == "melon" {
			w.end(syscall.SIGTERM)
			w.house.configure(plan{})
		}
		out := w.dragoman("sessions", "erase", key, "--yes")
		if !strings.Contains(out, "Erased: 1 conversation, ") || !strings.Contains(out, fmt.Sprintf(", %d note", answers)) {
			t.Errorf("sessions erase says\n%s", out)
		}
		if got := w.words(id, secret); got != nil {
			t.Errorf("the files still have %q", got)
		}
		return id
	}
	// quiet has Ann change a message of hers that is gone: nobody is answered.
	quiet := func(how, id string) {
		t.Helper()
		asked, sent := len(w.asked()), len(w.ann.Texts())
		w.ann.Edit(id, "new words")
		w.ann.Revoke(id)
		w.tell(wasim.Note{Text: "and now " + how})
		if n, m := len(w.asked())-asked, len(w.ann.Texts())-sent; n != 1 || m != 1 {
			t.Errorf("%s: %d turns and %d answers to changes of what is gone and one message, want one", how, n, m)
		}
		if out := w.dragoman("sessions", "show", key); strings.Contains(out, "new words") || strings.Contains(out, "earlier message") {
			t.Errorf("%s: the conversation tells of changes of what is gone:\n%s", how, out)
		}
	}
	id := erase("lemon", 1)
	w.reaches(condition{state: channels.StateConnected})
	quiet("erased", id)
	_, id = w.tell(wasim.Note{Text: "one more"})
	w.dragoman("sessions", "delete", key, "--yes")
	quiet("deleted", id)
	erase("melon", 4)
	audit, err := os.ReadFile(filepath.Join(w.state, "audit.log"))
	if err != nil || !strings.Contains(string(audit), `"noted":1,`) || !strings.Contains(string(audit), `"noted":4,`) {
		t.Errorf("audit.log has\n%s(%v), want that the notes are counted", audit, err)
	}
}

package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
)

// Two nodes on one database have nothing else in common. When one is killed, the
// other goes on with what people sent to it: pictures, and the phone that was
// linked there.
func TestAnotherNodeGoesOn(t *testing.T) {
	url := pgtest.Database(t, "", "")
	w := &whatsapp{house: newLibrary(t, nil), server: wasim.Start(t, wasim.Options{})}
	w.ann = w.server.Contact("+15550000002", "Ann")
	bin, err := simulating()
	if err != nil {
		t.Fatal(err)
	}
	w.bin, w.env = bin, []string{fmt.Sprintf("DRAGOMAN_WASIM=%s,%x", w.server.Addr(), wasim.RootKey())}
	node := func(name string) *house {
		l := w.house
		h := &house{t: t, dir: l.dir, state: filepath.Join(l.dir, name), config: filepath.Join(l.dir, name+".yaml"), bin: bin, env: l.env, api: l.api, model: l.model}
		p := seeing("store: {type: postgres, url: \"" + url + "\"}")(h)
		p.channels = "allow: [\"*\"]\n  whatsapp:\n    type: whatsapp\n    allow: [\"" + w.ann.Number() + "\"]"
		h.configure(p)
		return h
	}
	a, b := node("a"), node("b")
	first := a.launch()
	second := b.launch()
	w.house, w.daemon = b, second // whom the operator asks to link the phone, though the first one has the channel
	w.login()
	w.asks(t, "hello")
	w.api.Private(ann).Post(botapi.Post{From: ann, Extra: photo(w.api.AddFile(aPicture(t)), "what is this?")})
	if got := a.said(ann.ID, 1)[0]; !strings.HasPrefix(got, "1 pictures; what is this?") {
		t.Errorf("to a picture the bot says %q, want that it is shown it", got)
	}
	for _, h := range []*house{a, b} {
		if _, err := os.Stat(filepath.Join(h.state, "media")); err == nil {
			t.Errorf("%s has files of its own: %q", h.state, h.kept())
		}
	}

	_ = first.cmd.Process.Signal(syscall.SIGKILL)
	<-first.ended
	first.over = true
	w.asks(t, "are you still there?")
	b.tell(ann, "and now?")
	if got := b.said(ann.ID, 2)[1]; !strings.Contains(got, "1 pictures; ") {
		t.Errorf("after a node was killed the bot says %q, want that it still sees the picture", got)
	}

	if out := b.dragoman("logout", "whatsapp"); !strings.Contains(out, "no longer linked") {
		t.Errorf("logout says %q", out)
	}
	b.dragoman("sessions", "erase", fmt.Sprintf("telegram:%d", ann.ID), "--yes")
	for what, query := range map[string]string{
		"a device":  `SELECT 1 / (1 - count(*)) FROM dragoman_whatsapp.whatsmeow_device`,
		"a picture": `SELECT 1 / (1 - count(*)) FROM dragoman.media_parts`,
	} {
		if err := pgtest.Do(t.Context(), url, query); err != nil {
			t.Errorf("%s is left in the database: %v", what, err)
		}
	}
}

// asks waits for the answer of the librarian on WhatsApp.
func (w *whatsapp) asks(t *testing.T, text string) {
	t.Helper()
	before := len(w.ann.Texts())
	w.ann.Say(text)
	testkit.Eventually(t, "an answer to "+text, func() bool { return len(w.ann.Texts()) > before })
	if got := w.ann.Texts()[before]; !strings.Contains(got, text) {
		t.Errorf("the answer to %q is %q", text, got)
	}
}

package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// tell has Ann send a note and returns the answer to it.
func (w *whatsapp) tell(n wasim.Note) (answer, id string) {
	w.t.Helper()
	before := len(w.ann.Texts())
	id = w.ann.Send(n)
	testkit.Eventually(w.t, "an answer to "+n.Text, func() bool { return len(w.ann.Texts()) > before })
	return w.ann.Texts()[before], id
}

// newSeeingWhatsApp is a house with a linked phone and a model that is shown pictures. more is
// more of its configuration.
func newSeeingWhatsApp(t *testing.T, model agenttest.Reply, more string) *whatsapp {
	t.Helper()
	w := newWhatsAppAs(t, plan{options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return model }}})
	p := seeing(more)(w.house)
	p.channels = "enabled: false\n  whatsapp:\n    type: whatsapp\n    allow: [\"" + w.ann.Number() + "\"]"
	w.house.configure(p)
	w.begin()
	w.login()
	return w
}

// Whatever people send on WhatsApp reaches the model: pictures as pictures,
// the rest as a line of text, captions, quotes and changes as what they are.
func TestWhatsAppTalk(t *testing.T) {
	w := newSeeingWhatsApp(t, librarian, "media: {max_bytes: 1MiB}")
	file := func(kind wasim.Kind, mime, name string, data []byte) *wasim.Media {
		return &wasim.Media{Kind: kind, Mime: mime, Name: name, Data: data}
	}
	picture := aPicture(t)
	for _, tt := range []struct {
		name string
		note wasim.Note
		want []string
	}{
		{"a picture", wasim.Note{Text: "what is this?", Media: file(wasim.Image, "image/png", "", picture)}, []string{"1 pictures; what is this?", "[image, image/png, "}},
		{"one to be viewed once", wasim.Note{Media: file(wasim.Image, "image/png", "", picture), ViewOnce: true}, []string{"2 pictures; ", "[to be viewed once]", "[image, image/png, "}},
		{"one that goes away", wasim.Note{Text: "soon gone", Ephemeral: time.Hour}, []string{"2 pictures; ", "soon gone"}},
		{"one that is passed on", wasim.Note{Text: "win a prize", Forwarded: true}, []string{"[forwarded] win a prize"}},
		{"a voice message", wasim.Note{Media: file(wasim.Voice, "audio/ogg; codecs=opus", "", []byte("hm"))}, []string{"[voice, audio/ogg; codecs=opus, 2 bytes, file whatsapp_"}},
		{"a document", wasim.Note{Text: "read it", Media: file(wasim.Document, "text/plain", "offer.txt", []byte("the price is 42 euros\n"))}, []string{"It says: the price is 42 euros"}},
		{"a large one", wasim.Note{Text: "watch", Media: file(wasim.Video, "video/mp4", "", make([]byte, 1<<20+1))}, []string{"watch", "[video, video/mp4, 1 MB, not available: too large"}},
		{"a large one that lies", wasim.Note{Text: "watch", Media: &wasim.Media{Kind: wasim.Document, Mime: "a/b", Name: "x", Data: make([]byte, 1<<20+1), Claim: 7}}, []string{"not available: too large: more than 1 MB"}},
		{"a forged one", wasim.Note{Text: "look", Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: picture, Forged: true}}, []string{"look", "[image, image/png, ", "not available: "}},
	} {
		if got, _ := w.tell(tt.note); slices.ContainsFunc(tt.want, func(s string) bool { return !strings.Contains(got, s) }) {
			t.Errorf("to %s the bot says %q, want all of %q", tt.name, got, tt.want)
		}
	}
	got, id := w.tell(wasim.Note{Text: "the blue one"})
	if !strings.Contains(got, "the blue one") {
		t.Errorf("the bot says %q", got)
	}
	got, _ = w.tell(wasim.Note{Text: "how much?", Quote: id})
	if !strings.Contains(got, "how much?") || !strings.Contains(got, "the blue one") {
		t.Errorf("to an answer to a message the bot says %q, want that it knows which", got)
	}
	// What was answered already stands in the conversation as it is now, and
	// nobody gets an answer to a change or a reaction.
	asked, sent := len(w.asked()), len(w.ann.Texts())
	w.ann.Edit(id, "the green one")
	w.ann.React(id, "👍")
	got, _ = w.tell(wasim.Note{Text: "so which?"})
	if !strings.Contains(got, "so which?") {
		t.Errorf("the bot says %q", got)
	}
	w.tell(wasim.Note{Text: "and now?"})
	all := w.asked()
	if body := string(all[len(all)-1].Body); !strings.Contains(body, "the green one") || strings.Contains(body, "👍") {
		t.Errorf("the last request has no word of the change, or one of the reaction:\n%s", body)
	}
	if n, m := len(all)-asked, len(w.ann.Texts())-sent; n != 2 || m != 2 {
		t.Errorf("%d more requests and %d more answers, want one for each message", n, m)
	}
	if d := w.out.String(); strings.Contains(d, "42 euros") || strings.Contains(d, "mediakey") || strings.Contains(d, "blue one") {
		t.Error("the log shows what was said")
	}
}

// A conversation that began without the number becomes the one with it while a
// turn runs and a message waits: all of it is there, is answered once, and goes
// on after a restart.
func TestWhatsAppJoin(t *testing.T) {
	w := newWhatsApp(t)
	lid := w.ann.LID().String()
	w.house.configure(plan{channels: fmt.Sprintf("enabled: false\n  whatsapp:\n    type: whatsapp\n    allow: [%q, %q]", w.ann.Number(), lid)})
	w.begin()
	w.login()
	w.ann.HideOther(true)
	w.tell(wasim.Note{Text: "first #1", Media: &wasim.Media{Kind: wasim.Document, Mime: "text/plain", Name: "a.txt", Data: []byte("kept")}})
	if got := w.kept(); len(got) != 1 || !strings.Contains(got[0], "@lid") {
		t.Fatalf("the files are %q, want one of the hidden number", got)
	}
	w.dragoman("sessions", "rename", "whatsapp:"+lid, "Old friend")
	asked := len(w.asked())
	w.ann.Say("!hold gate second #2")
	testkit.Eventually(w.t, "the turn to run", func() bool { return len(w.asked()) > asked })
	id := w.ann.Say("third wrnog #3")
	testkit.Eventually(w.t, "a message to wait", func() bool {
		s, err := api.ReadStatus.Call(t.Context(), w.admin, api.None{})
		return err == nil && s.Waiting >= 2
	})
	w.ann.Edit(id, "third right #3")
	w.ann.HideOther(false)
	w.ann.Say("fourth #4")
	w.gates.open("gate")
	answered := func(mark string) bool {
		return slices.ContainsFunc(w.ann.Texts(), func(s string) bool { return strings.Contains(s, mark) })
	}
	testkit.Eventually(w.t, "every message to be answered", func() bool { return answered("#2") && answered("#3") && answered("#4") })
	w.again()
	w.tell(wasim.Note{Text: "fifth #5"})
	for n := 1; n <= 5; n++ {
		mark := fmt.Sprintf("#%d", n)
		if got := strings.Count(strings.Join(w.ann.Texts(), " "), mark); got != 1 {
			t.Errorf("%s is answered %d times: %q", mark, got, w.ann.Texts())
		}
	}
	list := w.dragoman("sessions", "list")
	if strings.Contains(list, lid) || !strings.Contains(list, "whatsapp:"+w.ann.Number()) || !strings.Contains(list, "Old friend") {
		t.Errorf("the conversations are\n%s", list)
	}
	shown := w.dragoman("sessions", "show", "whatsapp:"+w.ann.Number())
	for _, want := range []string{"first #1", "second #2", "third right #3", "fourth #4", "fifth #5"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in the conversation:\n%s", want, shown)
		}
	}
	if out := w.dragoman("queue", "list"); strings.Contains(out, lid) {
		t.Errorf("the queue has\n%s", out)
	}
	if got := w.kept(); len(got) != 1 || filepath.Base(filepath.Dir(got[0])) != "whatsapp_"+w.ann.Number() {
		t.Errorf("the files are %q, want the one file with the number's", got)
	}
	w.dragoman("sessions", "delete", "whatsapp:"+w.ann.Number(), "--yes")
	if got := w.kept(); len(got) != 0 {
		t.Errorf("after the deletion there are %q", got)
	}
}

// Who deletes a message after the daemon was killed and started again has
// deleted it: what waits is never shown to the model, what was answered has a note,
// and nobody gets an answer to the deletion of anything else.
func TestWhatsAppDeletedAfterRestart(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.login()
	_, answered := w.tell(wasim.Note{Text: "the old secret #1"})
	asked := len(w.asked())
	w.ann.Say("!hold gate second #2")
	testkit.Eventually(w.t, "the turn to run", func() bool { return len(w.asked()) > asked })
	waiting := w.ann.Say("!hold gate the new secret #3")
	testkit.Eventually(w.t, "a message to wait", func() bool {
		s, err := api.ReadStatus.Call(t.Context(), w.admin, api.None{})
		return err == nil && s.Waiting >= 2
	})
	w.over = true
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.ended
	asked = len(w.asked())
	w.begin()
	testkit.Eventually(w.t, "the turn to run again", func() bool { return len(w.asked()) > asked })
	w.ann.Revoke(waiting)
	w.ann.Revoke(answered)
	w.ann.Revoke("3ANEVERSEEN")
	w.ann.Say("last #4")
	testkit.Eventually(w.t, "the last message to be stored", func() bool {
		_, body := w.read("/metrics")
		return strings.Contains(body, `dragoman_messages_accepted_total{channel="whatsapp",outcome="queued"} 1`)
	})
	w.gates.open("gate")
	said := ""
	testkit.Eventually(w.t, "every message to be answered", func() bool {
		said = strings.Join(w.ann.Texts(), "\n")
		return strings.Contains(said, "#2") && strings.Contains(said, "#4")
	})
	w.tell(wasim.Note{Text: "and now? #5"})
	said = strings.Join(w.ann.Texts(), "\n")
	if strings.Contains(said, "#3") || strings.Count(said, "#1") != 1 {
		t.Errorf("the bot says\n%s\nwant no answer to what was deleted", said)
	}
	shown := w.dragoman("sessions", "show", "whatsapp:"+w.ann.Number())
	if strings.Contains(shown, "new secret") || strings.Count(shown, "[Ann deleted an earlier message]") != 1 || strings.Contains(shown, "was deleted") {
		t.Errorf("the conversation is\n%s\nwant nothing of the message that was deleted while it waited, and a note for the other", shown)
	}
	_, body := w.read("/metrics")
	if want := `dragoman_messages_accepted_total{channel="whatsapp",outcome="withdrawn"} 1`; !strings.Contains(body, want) {
		t.Errorf("/metrics lacks %s", want)
	}
}

// What cannot be decrypted is on the operator's list until it comes again.
func TestWhatsAppUndecryptable(t *testing.T) {
	w := newWhatsApp(t)
	w.begin()
	w.login()
	w.server.Faults.IgnoreRetries(true)
	w.server.Faults.Garble(1)
	id := w.ann.Say("hard to read #1")
	list := ""
	testkit.Eventually(w.t, "it to be set aside", func() bool {
		list = w.dragoman("queue", "list")
		return asideID(list) != ""
	})
	aside := asideID(list)
	if shown := w.dragoman("queue", "show", aside); !strings.Contains(shown, id) || !strings.Contains(shown, w.ann.LID().User) || !strings.Contains(list, "could not be decrypted") {
		t.Errorf("the list is\n%s\nand shows\n%s", list, shown)
	}
	if _, body := w.read("/metrics"); !strings.Contains(body, `dragoman_messages_set_aside_total{channel="whatsapp"} 1`) {
		t.Error("it is not counted")
	}
	w.again() // it is remembered
	w.server.Faults.IgnoreRetries(false)
	testkit.Eventually(w.t, "an answer", func() bool { return slices.Equal(w.ann.Texts(), []string{"echo: hard to read #1"}) })
	testkit.Eventually(w.t, "it to leave the list", func() bool { return asideID(w.dragoman("queue", "list")) == "" })
	if shown := w.dragoman("queue", "show", aside); !strings.Contains(shown, "came later") {
		t.Errorf("what was set aside shows\n%s", shown)
	}
	if _, err := os.Stat(filepath.Join(w.house.state, "whatsapp.device.db")); err != nil {
		t.Error(err)
	}
}

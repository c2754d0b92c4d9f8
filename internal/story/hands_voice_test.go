package story_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/testkit"
)

// voiceLab speaks and hears with Debian's programs, behind a server with OpenAI's API.
type voiceLab struct {
	*httptest.Server
	t *testing.T
}

func newVoiceLab(t *testing.T) *voiceLab {
	t.Helper()
	for _, program := range []string{"espeak-ng", "opusenc", "opusinfo", "pocketsphinx_continuous"} {
		testkit.Need(t, program)
	}
	l := &voiceLab{t: t}
	serve := http.NewServeMux()
	serve.HandleFunc("POST /v1/audio/speech", func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Input  string
			Format string `json:"response_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Format != "opus" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(l.says(ask.Input))
	})
	serve.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		file, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		recording, _ := io.ReadAll(file)
		_ = json.NewEncoder(w).Encode(map[string]string{"text": l.hears(recording)})
	})
	l.Server = httptest.NewServer(serve)
	t.Cleanup(l.Close)
	return l
}

// run runs a program and returns what it wrote.
func (l *voiceLab) run(in []byte, program string, args ...string) []byte {
	l.t.Helper()
	c := exec.CommandContext(l.t.Context(), program, args...)
	c.Stdin = bytes.NewReader(in)
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		l.t.Errorf("%s %q: %v\n%s", program, args, err, &problems)
	}
	return out
}

// says is a text as a voice message in Ogg Opus.
func (l *voiceLab) says(text string) []byte {
	return l.run(l.run(nil, "espeak-ng", "-s", "130", "--stdout", text), "opusenc", "--quiet", "-", "-")
}

// hears is what a recogniser that knows twenty words understands.
func (l *voiceLab) hears(recording []byte) string {
	dir, err := os.MkdirTemp(l.t.TempDir(), "heard")
	if err != nil {
		l.t.Fatal(err)
	}
	sound := filepath.Join(dir, "sound.ogg")
	wave := filepath.Join(dir, "sound.wav")
	if err := os.WriteFile(sound, recording, 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.run(nil, "opusdec", "--quiet", "--rate", "16000", sound, wave)
	return strings.TrimSpace(string(l.run(nil, "pocketsphinx_continuous", "-infile", wave, "-jsgf", filepath.Join("testdata", "voice.gram"), "-logfn", os.DevNull)))
}

// settings has Dragoman use l both ways.
func (l *voiceLab) settings() string {
	return "hearing: {url: " + l.URL + "/v1}\nspeaking: {url: " + l.URL + "/v1}"
}

// isVoice checks that a recording is a voice message, and returns what it says.
func (l *voiceLab) isVoice(recording string) string {
	l.t.Helper()
	at := filepath.Join(l.t.TempDir(), "answer.ogg")
	if err := os.WriteFile(at, []byte(recording), 0o600); err != nil {
		l.t.Fatal(err)
	}
	info := string(l.run(nil, "opusinfo", at))
	if !strings.Contains(info, "Playback length: 0m:0") || strings.Contains(strings.ToLower(info), "warning") {
		l.t.Errorf("opusinfo says:\n%s", info)
	}
	return l.hears([]byte(recording))
}

// opensWindows is a model that understands one wish.
func opensWindows(x *agenttest.Exchange) {
	if strings.Contains(x.Request.LastUser(), "open the window") {
		x.Text("The **window** is open now.")
	} else {
		x.Text("I did not understand " + x.Request.LastUser())
	}
	x.End("stop")
}

// Whoever speaks is answered aloud, and whoever writes in writing. On Telegram the answer is
// a voice message that a phone plays, and the transcript has its words.
func TestHandsVoiceOnTelegram(t *testing.T) {
	l := newVoiceLab(t)
	h := newHouse(t, plan{rest: l.settings(), options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return opensWindows }}})
	h.start()
	id := h.api.AddFile(l.says("open the window please"))
	h.api.Private(ann).Post(botapi.Post{From: ann, Extra: fields{"voice": fields{"file_id": id, "duration": 2, "mime_type": "audio/ogg"}}})
	sent := func() *botapi.Document {
		shown := h.api.Shown(ann.ID)
		return shown[len(shown)-1].Document
	}
	h.until("an answer aloud", func() bool { return sent() != nil })
	if d := sent(); d.Sort != "voice" || d.Seconds < 1 || d.Seconds > 5 {
		t.Errorf("the answer is a %s of %d seconds, want a voice message of a few", d.Sort, d.Seconds)
	}
	if got := l.isVoice(sent().Content); got != "the window is open now" {
		t.Errorf("the answer says %q", got)
	}
	words := h.dragoman("sessions", "show", fmt.Sprintf("telegram:%d", ann.ID))
	for _, want := range []string{"[voice, 0:02] open the window please", "The **window** is open now."} {
		if !strings.Contains(words, want) {
			t.Errorf("the transcript lacks %q:\n%s", want, words)
		}
	}
	h.tell(ann, "open the window")
	h.until("an answer in writing", func() bool {
		all := h.api.FromBot(ann.ID)
		return strings.Contains(all[len(all)-1], "The window is open now.")
	})
}

// The same on WhatsApp, where the message says how long it is.
func TestHandsVoiceOnWhatsApp(t *testing.T) {
	l := newVoiceLab(t)
	w := newWhatsAppAs(t, plan{options: agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply { return opensWindows }}})
	w.house.configure(plan{rest: l.settings(), channels: "enabled: false\n  whatsapp:\n    type: whatsapp\n    allow: [\"" + w.ann.Number() + "\"]"})
	w.begin()
	w.login()
	w.ann.Send(wasim.Note{Media: &wasim.Media{Kind: wasim.Voice, Mime: "audio/ogg; codecs=opus", Data: l.says("open the window please"), Seconds: 2}})
	last := func() *wasim.Media {
		all := w.ann.Received()
		if len(all) == 0 {
			return nil
		}
		return all[len(all)-1].Media
	}
	testkit.Eventually(t, "an answer aloud", func() bool { return last() != nil })
	got := last()
	if got.Kind != wasim.Voice || got.Mime != "audio/ogg; codecs=opus" || got.Seconds < 1 || got.Seconds > 5 {
		t.Errorf("the answer is %s, %s, %d seconds, want a voice message of a few", got.Kind, got.Mime, got.Seconds)
	}
	if said := l.isVoice(string(got.Data)); said != "the window is open now" {
		t.Errorf("the answer says %q", said)
	}
}

// A file of the workspace comes with the answer, also if the daemon is killed while Telegram
// takes it: then once more.
func TestHandsSendFile(t *testing.T) {
	h := newHouse(t, plan{})
	d := h.start()
	h.tell(ann, `!tool write_file {"path":"report.md","content":"# All is well"}`)
	h.said(ann.ID, 1)
	h.api.Break(botapi.Fault{Method: "sendDocument", ChatID: ann.ID, DropBefore: true, Times: 1})
	h.tell(ann, `!tool send_file {"path":"report.md"}`)
	h.said(ann.ID, 2)
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	d.over = true
	h.start()
	h.until("the file", func() bool {
		shown := h.api.Shown(ann.ID)
		file := shown[len(shown)-1].Document
		return file != nil && file.Name == "report.md" && file.Content == "# All is well"
	})
}

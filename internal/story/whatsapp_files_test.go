package story_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/internal/testkit"
)

// secretary is a model that reads the document which a message names, and sends files when it
// is told to.
func secretary(x *agenttest.Exchange) {
	text := x.Request.LastUser()
	var calls []string
	switch named := fileName.FindStringSubmatch(text); {
	case strings.Contains(text, "what does it say"):
		calls = []string{`read_attachment {"file":"` + named[1] + `"}`}
	case strings.Contains(text, "note of it"):
		calls = []string{`write_file {"path":"garden.md","content":"# Garden\nForty tulips."}`, `send_file {"path":"garden.md"}`}
	case strings.Contains(text, "the plan"):
		calls = []string{`send_file {"path":"plan.png"}`}
	}
	results := newestResults(x.Request)
	if len(results) < len(calls) {
		name, args, _ := strings.Cut(calls[len(results)], " ")
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_" + name, Name: name, Arguments: args})
		x.End("tool_calls")
		return
	}
	if strings.Contains(text, "what does it say") {
		x.Text("It says: " + results[0])
	} else {
		x.Text("Here you are.")
	}
	x.End("stop")
}

// newestResults are what tools have answered since the person wrote.
func newestResults(r *agenttest.Request) (results []string) {
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			results = nil
		case "tool":
			results = append(results, m.Content)
		}
	}
	return results
}

// A person sends a picture and a document as a phone does, and gets files back: the model is
// shown the picture itself and reads the document of a word processor, and what it sends
// arrives as a file and as a picture with its answer.
func TestWhatsAppFiles(t *testing.T) {
	w := newSeeingWhatsApp(t, secretary, "")
	picture := aPicture(t)
	if got, _ := w.tell(wasim.Note{Text: "what is this?", Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: picture}}); got != "Here you are." {
		t.Errorf("to a picture the bot says %q", got)
	}
	body := string(w.asked()[0].Body)
	if !strings.Contains(body, base64.StdEncoding.EncodeToString(picture)) || !strings.Contains(body, "what is this?") {
		t.Errorf("the model is not shown the picture with its caption:\n%s", body)
	}
	report, err := os.ReadFile("../documents/testdata/report.docx")
	if err != nil {
		t.Fatal(err)
	}
	const word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	got, _ := w.tell(wasim.Note{Text: "what does it say?", Media: &wasim.Media{Kind: wasim.Document, Mime: word, Name: "Bericht für Ann.docx", Data: report}})
	for _, want := range []string{"The garden in spring", "forty tulips near the wall.[2]", "[2] Bulbs from last year.", "Plant\tCount\nTulip\t40", "Grüße aus dem Garten"} {
		if !strings.Contains(got, want) {
			t.Errorf("to a document the bot says %q, want %q in it", got, want)
		}
	}
	err = os.WriteFile(filepath.Join(w.house.state, "workspace", "plan.png"), picture, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if sent := w.brings("send me a note of it", "note"); sent.Media.Kind != wasim.Document || sent.Media.Name != "garden.md" || string(sent.Media.Data) != "# Garden\nForty tulips." {
		t.Errorf("the file is %+v", sent.Media)
	}
	if sent := w.brings("and the plan", "plan"); sent.Media.Kind != wasim.Image || sent.Text != "Here you are." || string(sent.Media.Data) != string(picture) {
		t.Errorf("the picture is a %s with %q", sent.Media.Kind, sent.Text)
	}
	if d := w.out.String(); strings.Contains(d, "tulips") || strings.Contains(d, "what is this") || strings.Contains(d, "Bericht") {
		t.Error("the log shows what was said")
	}
}

// brings has Ann write, and returns the message with a file that she gets for it.
func (w *whatsapp) brings(text, what string) (sent wasim.Message) {
	w.t.Helper()
	before := len(w.ann.Received())
	w.ann.Send(wasim.Note{Text: text})
	testkit.Eventually(w.t, "a file: "+what, func() bool {
		for _, m := range w.ann.Received()[before:] {
			if m.Media != nil {
				sent = m
				return true
			}
		}
		return false
	})
	return sent
}

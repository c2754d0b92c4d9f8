package provider_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
	"dragoman/channels"
	"dragoman/sessions"
)

// shelf holds files by name.
type shelf map[string][]byte

func (s shelf) Open(file string) (io.ReadCloser, error) {
	b, found := s[file]
	if !found {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func dot(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// said returns a person's message with pictures.
func said(text string, files ...string) sessions.Message {
	m := sessions.Message{Role: sessions.RoleUser, Content: text}
	for _, f := range files {
		m.Attachments = append(m.Attachments, channels.Attachment{Kind: channels.AttachmentImage, Type: "image/jpeg", File: f})
	}
	return m
}

// sent returns the messages of the newest request, as JSON.
func sent(t *testing.T, s *agenttest.Server, m *provider.Model, msgs ...sessions.Message) []string {
	t.Helper()
	if _, _, _, err := complete(t, m, agent.Request{Messages: msgs}); err != nil {
		t.Fatal(err)
	}
	all := s.Requests()
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, raw := range body.Messages {
		out = append(out, string(raw))
	}
	return out
}

func TestPicturesAreShown(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	files := shelf{
		"dot": dot(t), "text": []byte("no picture"), "torn": dot(t)[:20], "large": append(dot(t), make([]byte, 1000)...),
	}
	m := model(t, s.URL(), func(o *provider.Options) { o.Files, o.MaxImageBytes = files, 1000 })
	url := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(files["dot"]) + `"}}`
	for name, tt := range map[string]struct {
		in   sessions.Message
		want string
	}{
		"one":           {said("look", "dot"), `{"role":"user","content":[{"type":"text","text":"look"},` + url + `]}`},
		"gone":          {said("look", "nowhere"), `{"role":"user","content":"look"}`},
		"not a picture": {said("look", "text"), `{"role":"user","content":"look"}`},
		"torn":          {said("look", "torn"), `{"role":"user","content":"look"}`},
		"too large":     {said("look", "large"), `{"role":"user","content":"look"}`},
		"some":          {said("look", "nowhere", "dot", "text"), `{"role":"user","content":[{"type":"text","text":"look"},` + url + `]}`},
		"never fetched": {said("look", ""), `{"role":"user","content":"look"}`},
		"not a person's": {
			sessions.Message{Role: sessions.RoleAssistant, Content: "hm", Attachments: said("", "dot").Attachments},
			`{"role":"assistant","content":"hm"}`,
		},
	} {
		if got := sent(t, s, m, tt.in); got[0] != tt.want {
			t.Errorf("%s: the request has %s, want %s", name, got[0], tt.want)
		}
	}
	blind := model(t, s.URL())
	if got := sent(t, s, blind, said("look", "dot")); got[0] != `{"role":"user","content":"look"}` {
		t.Errorf("a model without vision is sent %s", got[0])
	}
}

// Old pictures are removed five at a time, so that consecutive requests nearly
// always begin alike.
func TestOldPicturesAreRemoved(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	files := shelf{"dot": dot(t)}
	m := model(t, s.URL(), func(o *provider.Options) { o.Files = files })
	for n, hidden := range map[int]int{1: 0, 10: 0, 11: 5, 15: 5, 16: 10, 20: 10, 21: 15} {
		var msgs []sessions.Message
		for i := range n {
			msgs = append(msgs, said(fmt.Sprint("picture ", i), "dot"))
		}
		for i, raw := range sent(t, s, m, msgs...) {
			if got, want := strings.Contains(raw, "image_url"), i >= hidden; got != want {
				t.Errorf("of %d, picture %d is shown: %v, want %v", n, i, got, want)
			}
		}
	}
	// A message with several pictures loses its first ones.
	got := sent(t, s, m, said("twelve", strings.Split(strings.Repeat("dot ", 12), " ")[:12]...))
	if n := strings.Count(got[0], "image_url\":{"); n != 7 {
		t.Errorf("%d pictures of twelve are shown, want 7", n)
	}
}

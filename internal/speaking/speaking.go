// Package speaking makes voice messages of texts. It asks a server that speaks OpenAI's API:
// POST /audio/speech.
//
// The promise: a text goes to the configured server and to nobody else, once for each call.
// The key goes into a header, never into a log or an error. What comes back is Ogg Opus,
// which networks show as a voice message, of at most [MostSound] bytes. Nothing is converted
// here: the server is asked for Opus, and anything else is refused.
//
// What fails, and how: every error is a sentence for the operator, without the text.
//
//	no answer in a minute, or no connection   "did not answer"
//	the answer is too long                    "is too long"
//	the answer is MP3, WAV or another format  the format, and what helps
//	the key is refused, another status        the status
//
// Goroutines: none. A [Speaker] may be used by several.
//
// Source: https://platform.openai.com/docs/api-reference/audio/createSpeech
package speaking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dragoman/channels"
)

const (
	// MostSound is how many bytes a voice message may have: ten minutes and more.
	MostSound = 4 << 20

	timeout = time.Minute
)

// Options say which server is asked.
type Options struct {
	URL   string // up to and with /v1
	Key   string
	Model string
	Voice string
}

// Speaker asks one server. Make it with [New].
type Speaker struct {
	o      Options
	shown  string
	client *http.Client
}

// New returns the speaker for o, which the configuration has checked.
func New(o Options) (*Speaker, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Host == "" {
		return nil, errors.New("speaking: the server has no address")
	}
	o.URL = strings.TrimSuffix(o.URL, "/")
	return &Speaker{o: o, shown: at.Host, client: &http.Client{
		// A redirect could take the key and the words elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Say returns text as sound in Ogg Opus, and how many seconds it takes.
func (s *Speaker) Say(ctx context.Context, text string) (sound []byte, seconds int, err error) {
	ask := map[string]string{"model": s.o.Model, "voice": s.o.Voice, "input": text, "response_format": "opus"}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, 0, fmt.Errorf("speaking: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, s.o.URL+"/audio/speech", bytes.NewReader(body))
	if err != nil {
		return nil, 0, errors.New("speaking: the server has no address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Dragoman")
	if s.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.o.Key)
	}
	resp, err := s.client.Do(req)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("speaking: %s did not answer", s.shown)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, 0, s.refusal(resp.StatusCode)
	}
	sound, err = io.ReadAll(io.LimitReader(resp.Body, MostSound+1))
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("speaking: the answer of %s broke off", s.shown)
	}
	if len(sound) > MostSound {
		return nil, 0, fmt.Errorf("speaking: the sound of %s is too long: at most %d MB are sent", s.shown, MostSound>>20)
	}
	seconds, isOpus := channels.OpusSeconds(string(sound))
	if !isOpus {
		return nil, 0, fmt.Errorf("speaking: %s was asked for Opus and gave %s; "+
			"let it make response_format opus, as Ogg (servers that convert need ffmpeg), or use one that does", s.shown, formatOf(sound))
	}
	return sound, seconds, nil
}

// refusal says what a status other than 200 means. What the server wrote may repeat the key
// or the text, so it is not looked at.
func (s *Speaker) refusal(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("speaking: %s refused the key (HTTP %d)", s.shown, status)
	case http.StatusNotFound:
		return fmt.Errorf("speaking: %s has no /audio/speech, or not the model or voice (HTTP 404)", s.shown)
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		return fmt.Errorf("speaking: %s refuses the model, the voice or the format opus (HTTP %d); see speaking.model and speaking.voice", s.shown, status)
	}
	return fmt.Errorf("speaking: %s answered with HTTP %d", s.shown, status)
}

// formats are what servers give instead of Opus, by first bytes.
var formats = []struct{ begins, name string }{
	{"RIFF", "WAV"}, {"ID3", "MP3"}, {"\xff\xfb", "MP3"}, {"\xff\xf3", "MP3"}, {"\xff\xf2", "MP3"}, {"fLaC", "FLAC"}, {"\xff\xf1", "AAC"}, {"OggS", "Ogg without Opus"}, {"{", "JSON"},
}

func formatOf(sound []byte) string {
	for _, f := range formats {
		if bytes.HasPrefix(sound, []byte(f.begins)) {
			return f.name
		}
	}
	return "something else"
}

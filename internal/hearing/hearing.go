// Package hearing writes down what people say in voice messages. It asks a server that
// speaks OpenAI's API: POST /audio/transcriptions.
//
// The promise: a recording goes to the configured server and to nobody else, once for each
// call. The key goes into a header, never into a log or an error. The words come back as
// plain text of at most [MostWords] bytes.
//
// What fails, and how: every error is a sentence for the operator, without what was said.
//
//	no answer in two minutes, or no connection   "did not answer"
//	the recording has more than 25 MB            ErrTooLong: the server is not asked
//	the format is refused                        the format, and the flag that helps
//	the key is refused, another status           the status
//	an answer without words                      ErrSilence: nothing was said
//
// Goroutines: none. A [Listener] may be used by several.
//
// Source: https://platform.openai.com/docs/api-reference/audio/createTranscription
package hearing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

const (
	// MostWords is how many bytes of words are kept: half an hour of fast speech.
	MostWords = 32 << 10

	mostRecorded = 25 << 20 // what OpenAI takes
	answerBytes  = 1 << 20
	timeout      = 2 * time.Minute
)

// Errors of a [Listener] that are not the server's.
var (
	ErrSilence = errors.New("hearing: nothing was said")
	ErrTooLong = fmt.Errorf("hearing: the recording is too long: at most %d MB are sent", mostRecorded>>20)
)

// Options say which server is asked.
type Options struct {
	URL      string // up to and with /v1
	Key      string
	Model    string
	Language string // of the words, like "de"; "": the server finds out
}

// Listener asks one server. Make it with [New].
type Listener struct {
	o      Options
	shown  string
	client *http.Client
}

// New returns the listener for o, which the configuration has checked.
func New(o Options) (*Listener, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Host == "" {
		return nil, errors.New("hearing: the server has no address")
	}
	o.URL = strings.TrimSuffix(o.URL, "/")
	return &Listener{o: o, shown: at.Host, client: &http.Client{
		// A redirect could take the key and the words elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Words returns what is said in a recording of this media type.
func (l *Listener) Words(ctx context.Context, recording io.Reader, media string) (string, error) {
	form, kind, err := l.form(recording, media)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, l.o.URL+"/audio/transcriptions", form)
	if err != nil {
		return "", errors.New("hearing: the server has no address")
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "Dragoman")
	if l.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+l.o.Key)
	}
	resp, err := l.client.Do(req)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("hearing: %s did not answer", l.shown)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerBytes))
	if err != nil {
		return "", fmt.Errorf("hearing: the answer of %s broke off", l.shown)
	}
	if resp.StatusCode != http.StatusOK {
		return "", l.refusal(resp.StatusCode, body, media)
	}
	return l.read(body)
}

// form is the request's body, and its type.
func (l *Listener) form(recording io.Reader, media string) (io.Reader, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": fileName(media)}))
	head.Set("Content-Type", baseType(media))
	part, err := w.CreatePart(head)
	if err != nil {
		return nil, "", fmt.Errorf("hearing: %w", err)
	}
	n, err := io.Copy(part, io.LimitReader(recording, mostRecorded+1))
	if err != nil {
		return nil, "", fmt.Errorf("hearing: read the recording: %w", err)
	}
	if n > mostRecorded {
		return nil, "", ErrTooLong
	}
	fields := [][2]string{{"model", l.o.Model}, {"response_format", "json"}, {"language", l.o.Language}}
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, "", fmt.Errorf("hearing: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("hearing: %w", err)
	}
	return &b, w.FormDataContentType(), nil
}

// endings are the file endings of media types that people record in. Servers go by them:
// some refuse ".oga", which is Telegram's, and take the same bytes as ".ogg".
var endings = map[string]string{
	"audio/mp4": "m4a", "audio/x-m4a": "m4a", "audio/aac": "m4a", "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav",
	"audio/webm": "webm", "video/webm": "webm", "audio/flac": "flac",
}

func fileName(media string) string {
	ending, known := endings[baseType(media)]
	if !known {
		ending = "ogg"
	}
	return "voice." + ending
}

// baseType is a media type without parameters. The networks' voice messages are Ogg.
func baseType(media string) string {
	base, _, err := mime.ParseMediaType(media)
	if err != nil {
		return "audio/ogg"
	}
	return base
}

// refusal says what a status other than 200 means. What the server wrote may repeat the
// key or the words, so it is only looked at.
func (l *Listener) refusal(status int, body []byte, media string) error {
	text := strings.ToLower(string(body))
	formats := strings.Contains(text, "format") || strings.Contains(text, "decode") || strings.Contains(text, "read audio") || strings.Contains(text, "unsupported")
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("hearing: %s refused the key (HTTP %d)", l.shown, status)
	case (status == http.StatusBadRequest || status == http.StatusUnsupportedMediaType || status == http.StatusInternalServerError) && formats:
		return fmt.Errorf("hearing: %s does not take %s (HTTP %d); start whisper-server with --convert, or use a server that takes Ogg", l.shown, baseType(media), status)
	case status == http.StatusNotFound:
		return fmt.Errorf("hearing: %s has no /audio/transcriptions (HTTP 404); start whisper-server with --inference-path /v1/audio/transcriptions", l.shown)
	}
	return fmt.Errorf("hearing: %s answered with HTTP %d", l.shown, status)
}

func (l *Listener) read(body []byte) (string, error) {
	var answer struct {
		Text *string
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Text == nil {
		return "", fmt.Errorf("hearing: %s gave an answer that is none", l.shown)
	}
	words := strings.TrimSpace(strings.ToValidUTF8(*answer.Text, ""))
	if words == "" {
		return "", ErrSilence
	}
	if len(words) > MostWords {
		words = strings.ToValidUTF8(words[:MostWords], "") + "…"
	}
	return words, nil
}

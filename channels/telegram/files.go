package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"dragoman/channels"

	"github.com/go-telegram/bot/models"
)

var _ channels.Fetcher = (*Channel)(nil)

// tooBig is what becomes of a file that Telegram gives to people only.
const tooBig = "larger than Telegram lets bots download (20 MB)"

// Fetch asks Telegram where the file lies, which it says anew each time
// because the answer is good for an hour only, and downloads it.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment, w io.Writer) error {
	if a.Ref == "" {
		return &channels.Gone{Why: "Telegram did not say where it is"}
	}
	result, err := c.api.call(ctx, "getFile", struct {
		ID string `json:"file_id"`
	}{a.Ref}, callLimit)
	if err != nil {
		return fileError(err)
	}
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := json.Unmarshal(result, &file); err != nil || !plainPath(file.Path) {
		return &broken{"getFile", true, errUnreadable}
	}
	n, err := c.api.download(ctx, file.Path, w)
	if err == nil && file.Size > 0 && n != file.Size {
		return &broken{"getFile", true, fmt.Errorf("the file has %d bytes instead of %d", n, file.Size)}
	}
	return fileError(err)
}

// plainPath refuses what would lead to another place of the server. A Bot API
// server of one's own that runs with --local gives out paths of its machine,
// which begin with a slash and mean nothing here.
func plainPath(path string) bool {
	return path != "" && path[0] != '/' && !strings.Contains(path, "..") && !strings.ContainsAny(path, "?#%\\ ")
}

// fileError sorts the refusals of a file.
func fileError(err error) error {
	var r *refusal
	switch {
	case !errors.As(err, &r):
		return err
	case r.code == http.StatusTooManyRequests && r.after > 0:
		return &channels.Retry{After: r.after, Err: err}
	case r.says("file is too big"):
		return &channels.Gone{Why: tooBig, Err: err}
	case r.code == http.StatusBadRequest, r.code == http.StatusForbidden, r.code == http.StatusUnauthorized:
		return &channels.Gone{Why: "Telegram no longer has it", Err: err}
	}
	// A 404 of a path too: it was good a moment ago and the next one will be.
	return err
}

// download copies a file to w and returns how long it is. Its errors never
// hold the token, which is a part of the address; those of w are passed on.
func (c *client) download(ctx context.Context, path string, w io.Writer) (int64, error) {
	fail := func(err error) error { return &broken{"getFile", true, c.tame(err)} }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.file(path), nil)
	if err != nil {
		return 0, fail(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if err != nil {
			return 0, fail(err)
		}
		if _, err = c.open("getFile", resp.StatusCode, answer); err != nil {
			return 0, err
		}
		return 0, fail(errUnreadable)
	}
	to := &guarded{w: w}
	n, err := io.Copy(to, resp.Body)
	if to.err != nil {
		return n, to.err
	}
	if err != nil {
		return n, fail(err)
	}
	return n, nil
}

// guarded remembers the error of a writer, to tell it from the reader's.
type guarded struct {
	w   io.Writer
	err error
}

func (g *guarded) Write(p []byte) (int, error) {
	n, err := g.w.Write(p)
	if err != nil {
		g.err = err
	}
	return n, err
}

// files are looked at in order: an animation is also a document. Each says
// what came with a message; false if it is something else.
var files = []func(*models.Message) (channels.Attachment, bool){
	photo,
	carries(func(m *models.Message) *models.Animation { return m.Animation }, func(f *models.Animation) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentVideo, Name: f.FileName, Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	carries(func(m *models.Message) *models.Video { return m.Video }, func(f *models.Video) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentVideo, Name: named(f.FileName, f.Duration), Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	carries(func(m *models.Message) *models.VideoNote { return m.VideoNote }, func(f *models.VideoNote) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentVideo, Name: named("", f.Duration), Type: "video/mp4", Bytes: int64(f.FileSize), Ref: f.FileID}
	}),
	carries(func(m *models.Message) *models.Voice { return m.Voice }, func(f *models.Voice) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentVoice, Name: named("", f.Duration), Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	carries(func(m *models.Message) *models.Audio { return m.Audio }, func(f *models.Audio) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentAudio, Name: cmp.Or(f.FileName, named(f.Title, f.Duration)), Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	carries(func(m *models.Message) *models.Document { return m.Document }, func(f *models.Document) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentDocument, Name: f.FileName, Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	carries(func(m *models.Message) *models.Sticker { return m.Sticker }, func(f *models.Sticker) channels.Attachment {
		return channels.Attachment{Kind: channels.AttachmentSticker, Name: f.Emoji, Type: stickerType(f), Bytes: int64(f.FileSize), Ref: f.FileID}
	}),
}

// carries looks at one field of a message.
func carries[F any](field func(*models.Message) *F, say func(*F) channels.Attachment) func(*models.Message) (channels.Attachment, bool) {
	return func(m *models.Message) (channels.Attachment, bool) {
		if f := field(m); f != nil {
			return say(f), true
		}
		return channels.Attachment{}, false
	}
}

// photo is the largest of the sizes that Telegram made of one picture, all of
// them JPEGs.
func photo(m *models.Message) (a channels.Attachment, ok bool) {
	if len(m.Photo) == 0 {
		return a, false
	}
	best := m.Photo[0]
	for _, p := range m.Photo[1:] {
		if p.Width*p.Height > best.Width*best.Height {
			best = p
		}
	}
	return channels.Attachment{Kind: channels.AttachmentImage, Type: "image/jpeg", Bytes: int64(best.FileSize), Ref: best.FileID}, true
}

func stickerType(f *models.Sticker) string {
	switch {
	case f.IsAnimated:
		return "application/x-tgsticker"
	case f.IsVideo:
		return "video/webm"
	}
	return "image/webp"
}

// named is the name of a file, or how long it plays where it has none.
func named(name string, duration int) string {
	if name == "" && duration > 0 {
		return (time.Duration(duration) * time.Second).String()
	}
	return name
}

// carried are the files that came with m, at most one: Telegram makes a
// message of each picture of an album.
func carried(m *models.Message) []channels.Attachment {
	for _, look := range files {
		if a, ok := look(m); ok {
			a.Name, a.Bytes = oneLine(a.Name), max(a.Bytes, 0)
			if a.Ref == "" {
				a.Missing = "Telegram did not say where it is"
			}
			return []channels.Attachment{a}
		}
	}
	return nil
}

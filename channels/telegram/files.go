package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"github.com/go-telegram/bot/models"
)

var _ channels.Fetcher = (*Channel)(nil)

// tooBig is why a file that people can download is not available to us.
const tooBig = "larger than Telegram lets bots download (20 MB)"

// Fetch asks Telegram for the file's path and downloads it. It asks every time,
// because a path is valid for only an hour.
func (c *Channel) Fetch(ctx context.Context, a channels.Attachment, w io.Writer) error {
	if a.Ref == "" {
		return &channels.Gone{Why: "Telegram did not say where it is"}
	}
	result, err := c.api.call(ctx, "getFile", struct {
		ID string `json:"file_id"`
	}{a.Ref}, callTimeout)
	if err != nil {
		return fileError(err)
	}
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := json.Unmarshal(result, &file); err != nil || !isSafePath(file.Path) {
		return &callError{"getFile", true, errUnreadable}
	}
	n, err := c.api.download(ctx, file.Path, w)
	if err == nil && file.Size > 0 && n != file.Size {
		return &callError{"getFile", true, fmt.Errorf("the file has %d bytes instead of %d", n, file.Size)}
	}
	return fileError(err)
}

// isSafePath reports whether path stays below the server's folder of files. A private
// Bot API server that runs with --local returns absolute paths on its own machine,
// which we cannot use.
func isSafePath(path string) bool {
	return path != "" && path[0] != '/' && !strings.Contains(path, "..") && !strings.ContainsAny(path, "?#%\\ ")
}

// fileError decides whether fetching a file again can help. A [channels.Gone]
// tells the model why there is no file.
func fileError(err error) error {
	var r *apiError
	switch {
	case !errors.As(err, &r):
		return err
	case r.code == http.StatusTooManyRequests && r.after > 0:
		return &channels.Retry{After: r.after, Err: err}
	case r.contains("file is too big"):
		return &channels.Gone{Why: tooBig, Err: err}
	case r.code == http.StatusBadRequest, r.code == http.StatusForbidden, r.code == http.StatusUnauthorized:
		return &channels.Gone{Why: "Telegram no longer has it", Err: err}
	}
	// A 404 is temporary too: the next getFile returns a new path.
	return err
}

// download copies a file to w and returns its length. Errors of w are returned
// unchanged. No other error contains the token, which is part of the URL.
func (c *client) download(ctx context.Context, path string, w io.Writer) (int64, error) {
	fail := func(err error) error { return &callError{"getFile", true, c.hideToken(err)} }
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
		if _, err = c.decode("getFile", resp.StatusCode, answer); err != nil {
			return 0, err
		}
		return 0, fail(errUnreadable)
	}
	to := &errWriter{w: w}
	n, err := io.Copy(to, resp.Body)
	if to.err != nil {
		return n, to.err
	}
	if err != nil {
		return n, fail(err)
	}
	return n, nil
}

// errWriter keeps the error of w, so that download can tell it from a read error.
type errWriter struct {
	w   io.Writer
	err error
}

func (g *errWriter) Write(p []byte) (int, error) {
	n, err := g.w.Write(p)
	if err != nil {
		g.err = err
	}
	return n, err
}

// describer looks for one kind of attachment in a message. note describes it and is
// "" if the message has none; file is nil if it is not a file.
type describer func(*models.Message) (note string, file *channels.Attachment)

// describers are tried in order, because an animation is also a document, and a venue
// also a location.
var describers = []describer{
	photo,
	onField(func(m *models.Message) *models.Animation { return m.Animation }, func(f *models.Animation) (string, *channels.Attachment) {
		return "animation", &channels.Attachment{Kind: channels.AttachmentVideo, Name: f.FileName, Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	onField(func(m *models.Message) *models.Video { return m.Video }, func(f *models.Video) (string, *channels.Attachment) {
		return "video, " + seconds(f.Duration), &channels.Attachment{Kind: channels.AttachmentVideo, Name: fileName(f.FileName, f.Duration), Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	onField(func(m *models.Message) *models.VideoNote { return m.VideoNote }, func(f *models.VideoNote) (string, *channels.Attachment) {
		return "video message, " + seconds(f.Duration), &channels.Attachment{Kind: channels.AttachmentVideo, Name: fileName("", f.Duration), Type: "video/mp4", Bytes: int64(f.FileSize), Ref: f.FileID}
	}),
	onField(func(m *models.Message) *models.Voice { return m.Voice }, func(f *models.Voice) (string, *channels.Attachment) {
		return "voice message, " + seconds(f.Duration), &channels.Attachment{Kind: channels.AttachmentVoice, Name: fileName("", f.Duration), Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID, Seconds: f.Duration}
	}),
	onField(func(m *models.Message) *models.Audio { return m.Audio }, func(f *models.Audio) (string, *channels.Attachment) {
		return "audio " + listed(f.Performer, f.Title, f.FileName, seconds(f.Duration)), &channels.Attachment{Kind: channels.AttachmentAudio, Name: cmp.Or(f.FileName, fileName(f.Title, f.Duration)), Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	onField(func(m *models.Message) *models.Document { return m.Document }, func(f *models.Document) (string, *channels.Attachment) {
		return "file " + oneLine(f.FileName), &channels.Attachment{Kind: channels.AttachmentDocument, Name: f.FileName, Type: f.MimeType, Bytes: f.FileSize, Ref: f.FileID}
	}),
	onField(func(m *models.Message) *models.Sticker { return m.Sticker }, func(f *models.Sticker) (string, *channels.Attachment) {
		return "sticker " + oneLine(f.Emoji), &channels.Attachment{Kind: channels.AttachmentSticker, Name: f.Emoji, Type: stickerType(f), Bytes: int64(f.FileSize), Ref: f.FileID}
	}),
	onField(func(m *models.Message) *models.Venue { return m.Venue }, func(v *models.Venue) (string, *channels.Attachment) {
		return "place " + listed(v.Title, v.Address, position(&v.Location)), nil
	}),
	onField(func(m *models.Message) *models.Location { return m.Location }, func(l *models.Location) (string, *channels.Attachment) {
		return "location " + position(l), nil
	}),
	onField(func(m *models.Message) *models.Contact { return m.Contact }, func(c *models.Contact) (string, *channels.Attachment) {
		return "contact " + listed(append([]string{c.FirstName + " " + c.LastName, c.PhoneNumber}, channels.CardFields(c.VCard)...)...), nil
	}),
	onField(func(m *models.Message) *models.Poll { return m.Poll }, func(p *models.Poll) (string, *channels.Attachment) {
		options := make([]string, len(p.Options))
		for i, o := range p.Options {
			options[i] = o.Text
		}
		return "poll " + oneLong(p.Question) + ": " + oneLong(strings.Join(options, " / ")), nil
	}),
	onField(func(m *models.Message) *models.Dice { return m.Dice }, func(d *models.Dice) (string, *channels.Attachment) {
		return fmt.Sprintf("%s %d", d.Emoji, d.Value), nil
	}),
	onField(func(m *models.Message) *models.Checklist { return m.Checklist }, func(l *models.Checklist) (string, *channels.Attachment) {
		tasks := make([]string, len(l.Tasks))
		for i, task := range l.Tasks {
			tasks[i] = "[ ] " + task.Text
			if task.CompletionDate != 0 {
				tasks[i] = "[x] " + task.Text
			}
		}
		return "checklist " + oneLong(l.Title) + ": " + oneLong(strings.Join(tasks, " / ")), nil
	}),
	onField(func(m *models.Message) *models.Game { return m.Game }, func(g *models.Game) (string, *channels.Attachment) {
		return "game " + listed(g.Title, g.Description), nil
	}),
	onField(func(m *models.Message) *models.Invoice { return m.Invoice }, func(v *models.Invoice) (string, *channels.Attachment) {
		return "invoice " + listed(v.Title, v.Description, fmt.Sprintf("%d of the smallest unit of %s", v.TotalAmount, v.Currency)), nil
	}),
	func(m *models.Message) (string, *channels.Attachment) {
		if m.Story == nil && m.PaidMedia == nil && m.RichMessage == nil {
			return "", nil
		}
		return "a kind of message that cannot be read here", nil
	},
}

// oneLong is one line of what people wrote into a card.
func oneLong(s string) string { return markup.Clip(markup.Line(s), 2000) }

// listed joins the fields of a card; those that are empty or were named are left out.
func listed(fields ...string) string {
	var kept []string
	for _, field := range fields {
		field = markup.Clip(markup.Line(field), 200)
		if field != "" && !slices.Contains(kept, field) {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, ", ")
}

func onField[F any](field func(*models.Message) *F, describe func(*F) (string, *channels.Attachment)) describer {
	return func(m *models.Message) (string, *channels.Attachment) {
		if f := field(m); f != nil {
			return describe(f)
		}
		return "", nil
	}
}

// photo describes a picture. Telegram offers several sizes of it, all JPEG; photo takes
// the largest.
func photo(m *models.Message) (string, *channels.Attachment) {
	if len(m.Photo) == 0 && m.LivePhoto == nil {
		return "", nil
	}
	if len(m.Photo) == 0 {
		return "photo", nil
	}
	best := slices.MaxFunc(m.Photo, func(a, b models.PhotoSize) int { return a.Width*a.Height - b.Width*b.Height })
	return "photo", &channels.Attachment{Kind: channels.AttachmentImage, Type: "image/jpeg", Bytes: int64(best.FileSize), Ref: best.FileID}
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

// fileName is name, or the duration (in seconds) of a file without one.
func fileName(name string, duration int) string {
	if name == "" && duration > 0 {
		return (time.Duration(duration) * time.Second).String()
	}
	return name
}

// attached returns a short note about what came with m, like "[photo]", or "", and its
// files. It is at most one file, because each picture of an album is a message.
func attached(m *models.Message) (note string, files []channels.Attachment) {
	for _, describe := range describers {
		note, a := describe(m)
		if note == "" {
			continue
		}
		if a != nil {
			a.Name, a.Bytes = oneLine(a.Name), max(a.Bytes, 0)
			if a.Ref == "" {
				a.Missing = "Telegram did not say where it is"
			}
			files = []channels.Attachment{*a}
		}
		return "[" + strings.TrimSpace(note) + "]", files
	}
	return "", nil
}

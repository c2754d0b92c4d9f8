package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"dragoman/agent/wire"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// A server that refuses one picture refuses every request with it, so the picture is
// left out from then on, and the others are shown. Some servers name its place; else
// it is probably one that no answered request has had.

// shownPicture is a picture of a request.
type shownPicture struct {
	file  string
	bytes int
	side  int // the longer one in pixels; 0: unknown
}

// pictureMemory knows which pictures a server has taken and refused. It is safe for
// concurrent use. It is not stored: after a restart, a refused picture costs a request.
type pictureMemory struct {
	mu      sync.Mutex
	taken   map[string]bool
	refused map[string]time.Time
}

// maxKnownPictures bounds both maps. At the limit all entries go and are learned again.
const maxKnownPictures = 4096

func (p *pictureMemory) take(list []shownPicture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil || len(p.taken)+len(list) > maxKnownPictures {
		p.taken = make(map[string]bool)
	}
	for _, s := range list {
		p.taken[s.file] = true
	}
}

func (p *pictureMemory) refuse(files []string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil || len(p.refused)+len(files) > maxKnownPictures {
		p.refused = make(map[string]time.Time)
	}
	for _, file := range files {
		p.refused[file] = now
	}
}

func (p *pictureMemory) wasTaken(file string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[file]
}

func (p *pictureMemory) wasRefused(file string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, found := p.refused[file]
	return found && now.Sub(at) < lessonLifetime
}

// isOut reports whether a picture is not to be shown, because the server refused it in
// this call or before.
func (t *try) isOut(file string) bool {
	return slices.Contains(t.leftOut, file) || t.m.pictures.wasRefused(file, t.began)
}

const noteRefused = "\n[A picture of this message cannot be shown here: the model's server refused it.]"

// withNotes adds to messages whose pictures were refused that the model does not see
// them. It returns list itself if there are none.
func (t *try) withNotes(list []sessions.Message) []sessions.Message {
	copied := false
	for i := range list {
		if !slices.ContainsFunc(picturesOf(&list[i]), t.isOut) {
			continue
		}
		if !copied {
			list, copied = slices.Clone(list), true
		}
		list[i].Content += noteRefused
	}
	return list
}

// leaveOutPictures leaves out what the server probably refused, for the next request of
// this call, and for later calls if that one succeeds.
func (t *try) leaveOutPictures(refusal *wire.ServerError) bool {
	guilty := t.guilty(refusal)
	for _, file := range guilty {
		t.m.o.Logger.Warn("the model's server refused a picture; the request is repeated without it",
			"model", t.m.o.Name, "file", path.Base(file), "said", refusal.Quote(t.r))
	}
	t.leftOut = append(t.leftOut, guilty...)
	return true
}

var (
	aboutAllPictures = lazily.Compile(`\btotal\b|\bcombined\b|too many|number of images|request (?:size|body|entity|too large)|payload|entity too large`)
	aboutSides       = lazily.Compile(`dimension|pixel|resolution|width|height|aspect`)
	aboutBytes       = lazily.Compile(`\bsize\b|large|\bbig\b|bytes|\b[mk]i?b\b`)
)

// maxGuesses is how many pictures are left out one by one, before all are.
const maxGuesses = 3

// guilty returns the files of the pictures that the server probably refused.
func (t *try) guilty(refusal *wire.ServerError) (files []string) {
	shown := t.shown
	all := func() (files []string) {
		for _, s := range shown {
			files = append(files, s.file)
		}
		return files
	}
	if file := t.pictureAt(refusal.Words); file != "" {
		return []string{file}
	}
	t.guesses++
	if t.guesses > maxGuesses {
		return all()
	}
	if len(shown) > 1 && (refusal.Status == http.StatusRequestEntityTooLarge || aboutAllPictures.Matches(refusal.Words)) {
		shown = shown[:(len(shown)+1)/2] // the older half
		return all()
	}
	suspects := slices.DeleteFunc(slices.Clone(shown), func(s shownPicture) bool { return t.m.pictures.wasTaken(s.file) })
	if len(suspects) == 0 {
		suspects = slices.Clone(shown)
	}
	slices.Reverse(suspects) // the newest first
	switch {
	case aboutSides.Matches(refusal.Words):
		slices.SortStableFunc(suspects, func(x, y shownPicture) int { return cmp.Compare(y.side, x.side) })
	case aboutBytes.Matches(refusal.Words):
		slices.SortStableFunc(suspects, func(x, y shownPicture) int { return cmp.Compare(y.bytes, x.bytes) })
	}
	return []string{suspects[0].file}
}

// place matches the place of a part of a request: messages.0.content.1,
// messages[0].content[1], input[0].content[1].
var place = lazily.Compile(`\b(?:messages|input)[.\[]+(\d{1,6})\]?[.\[]+content[.\[]+(\d{1,6})`)

// pictureAt returns the file of the picture at the place that words name, or "".
func (t *try) pictureAt(words string) string {
	found := place.Regexp().FindStringSubmatch(words)
	if found == nil {
		return ""
	}
	message, err := strconv.Atoi(found[1])
	if err != nil {
		return ""
	}
	part, err := strconv.Atoi(found[2])
	if err != nil {
		return ""
	}
	n, is := imageNumber(t.body(), message, part)
	if !is || n >= len(t.shown) {
		return ""
	}
	return t.shown[n].file
}

// body returns the newest request once more.
func (t *try) body() []byte {
	again := *t.in
	again.Pictures = t.m.newPictureReader(again.Request.Messages, t.known.maxPictures, t.isOut).read
	parts, err := t.m.codecs[t.known.traits.API].Encode(&again)
	if err != nil {
		return nil // it was encoded before
	}
	return bytes.Join(parts, nil)
}

// imageNumber returns how many images of a request stand before a part of a message,
// and whether that part is an image.
func imageNumber(body []byte, message, part int) (n int, is bool) {
	type item struct {
		Content json.RawMessage `json:"content"`
	}
	var request struct {
		Messages []item `json:"messages"`
		Input    []item `json:"input"`
	}
	if json.Unmarshal(body, &request) != nil {
		return 0, false
	}
	for i, m := range append(request.Messages, request.Input...) {
		var parts []struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(m.Content, &parts) // a text has no parts
		for j, p := range parts {
			image := slices.Contains([]string{"image", "image_url", "input_image"}, p.Type)
			if i == message && j == part {
				return n, image
			}
			if image {
				n++
			}
		}
	}
	return 0, false
}

package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// FilesQuery asks for one page of files.
type FilesQuery struct {
	// Key is their conversation; the zero key means all that the caller may read.
	Key channels.Key `json:"key,omitzero"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

// ListedFile is a file that came with a message.
type ListedFile struct {
	// Key, Seq and N are its address: conversations/{key}/messages/{seq}/files/{n}.
	Key channels.Key `json:"key"`
	Seq int64        `json:"seq"`
	N   int          `json:"n"`
	Attachment
	// From is the name of who sent it, Sender their immutable id, and At when.
	From   string    `json:"from,omitempty"`
	Sender string    `json:"sender,omitempty"`
	At     time.Time `json:"at"`
	// Text is the beginning of its message.
	Text string `json:"text,omitempty"`
}

const (
	// maxFileReads is how many parts of conversations one call looks through for files. If
	// that was not enough, the page is short, and the next one goes on.
	maxFileReads = 100
	// filePart is how many messages such a part has.
	filePart = 200
)

// filePlace is where the next page goes on: with the files of message Seq after the one with
// the number N, then with the messages before it, then with the conversations after the
// place After.
type filePlace struct {
	Key   channels.Key `json:"k"`
	Seq   int64        `json:"s"`
	N     int          `json:"n"`
	After string       `json:"a,omitempty"`
}

// String encodes p as one word.
func (p filePlace) String() string { return base64.RawURLEncoding.EncodeToString(encode(p)) }

// parseFilePlace is the inverse of String; "": the beginning.
func parseFilePlace(text string) (p *filePlace, err error) {
	if text == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil || p == nil || p.Key.IsZero() || p.Seq < 1 {
		return nil, refuse("after", "after is the next of the page before")
	}
	return p, nil
}

// fileWalk collects the files of conversations, the newest first.
type fileWalk struct {
	*server
	found []ListedFile
	limit int
	reads int        // that are left
	after string     // the place of the conversation
	next  *filePlace // set: the page is full, or reads are used up
}

// page is what was found.
func (w *fileWalk) page() Page[ListedFile] {
	page, _ := pageOf(w.found, nil)
	if w.next != nil {
		w.next.After = w.after
		page.Next = w.next.String()
	}
	return page
}

// conversation collects the files of k that the caller may see, beginning
// at a place; nil: at its end.
func (w *fileWalk) conversation(ctx context.Context, k channels.Key, sight people.Sight, at *filePlace) error {
	if at == nil {
		end, err := w.end(ctx, k)
		if err != nil {
			return err
		}
		at = &filePlace{Key: k, Seq: end, N: math.MaxInt32}
	}
	least := max(sight.From, 1)
	for to := at.Seq; to >= least; { // to is the last message to look at
		if w.reads == 0 {
			w.next = &filePlace{Key: k, Seq: to + 1, N: math.MaxInt32}
			return nil
		}
		w.reads--
		from := max(to-filePart+1, least)
		messages, err := w.Store.Messages(ctx, k, from-1, int(to-from+1))
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
		for i := len(messages) - 1; i >= 0 && w.next == nil; i-- {
			begin := 0
			if messages[i].Seq == at.Seq {
				begin = at.N + 1
			}
			w.message(k, completed(messages[i], sight.Group), begin)
		}
		if w.next != nil {
			return nil
		}
		to = from - 1
	}
	return nil
}

// message collects the files of m from the one with the number begin on.
func (w *fileWalk) message(k channels.Key, m sessions.Message, begin int) {
	files := attachmentsOf(m.Attachments)
	for n := begin; n < len(files); n++ {
		if len(w.found) == w.limit {
			w.next = &filePlace{Key: k, Seq: m.Seq, N: n - 1}
			return
		}
		w.found = append(w.found, ListedFile{
			Key: k, Seq: m.Seq, N: n, Attachment: files[n], From: m.Name, Sender: m.Sender, At: m.At, Text: firstWords(m.Said(), lastSize),
		})
	}
}

// listFiles lists the files of one conversation or of all, the most recently updated
// conversation first and the newest file of each first.
func (s *server) listFiles(ctx context.Context, q FilesQuery) (Page[ListedFile], error) {
	none := Page[ListedFile]{}
	at, err := parseFilePlace(q.After)
	if err != nil {
		return none, err
	}
	w := &fileWalk{server: s, limit: page(q.Limit), reads: maxFileReads}
	if q.Key.IsZero() {
		err = w.all(ctx, at)
		return w.page(), err
	}
	if at != nil && at.Key != q.Key {
		return none, refuse("after", "after is the next of the page before, with the same key")
	}
	sight, err := s.read(ctx, q.Key)
	if err != nil {
		return none, err
	}
	err = w.conversation(ctx, q.Key, sight, at)
	return w.page(), err
}

// all collects the files of all conversations that the caller may read, from a place on.
func (w *fileWalk) all(ctx context.Context, at *filePlace) error {
	like := sessions.Query{Limit: sessions.MaxPage}
	mine := !caller(ctx).May(people.Read)
	if mine {
		var err error
		like.Owners, err = w.Reads.Mine(ctx, caller(ctx))
		if err != nil {
			return err
		}
	}
	if at != nil {
		w.after = at.After
		err := w.one(ctx, at.Key, mine, at)
		if err != nil || w.next != nil {
			return err
		}
		place, err := sessions.ParseCursor(at.After)
		if err != nil {
			return refuse("after", "after is the next of the page before")
		}
		like.After = &place
	}
	for {
		found, err := w.Store.Find(ctx, like)
		if err != nil {
			return err
		}
		for _, c := range found {
			place := c.Position()
			w.after = place.String()
			like.After = &place
			err := w.one(ctx, c.Key, mine, nil)
			if err != nil || w.next != nil {
				return err
			}
		}
		if len(found) < like.Limit {
			return nil
		}
	}
}

// one collects the files of k, if the caller may read it. mine: if it is theirs.
func (w *fileWalk) one(ctx context.Context, k channels.Key, mine bool, at *filePlace) error {
	sight, err := w.sight(ctx, k)
	if err != nil || !sight.May || mine && !sight.Own {
		return err
	}
	return w.conversation(ctx, k, sight, at)
}

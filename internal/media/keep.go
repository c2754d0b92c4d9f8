package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"dragoman/channels"
)

const (
	// tries are the attempts at one file within one turn.
	tries = 2
	// pause lies between them. A network that asks for more than longestPause
	// is asked no more within this turn.
	pause        = time.Second
	longestPause = 5 * time.Second
)

// errStoring is a failure of our own disk or database.
var errStoring = errors.New("media: store a file")

func storing(err error) error { return fmt.Errorf("%w: %w", errStoring, bare(err)) }

// Fetch writes a file to w. See [channels.Fetcher].
type Fetch = func(ctx context.Context, w io.Writer) error

// Keep makes sure that attachment i of m is here and returns it as it goes to
// the transcript: without its Ref, and with File, or with Missing in a few
// words. A file that is here already is not fetched again. fetch is nil where
// the network has no files to give. Keep returns an error only if ctx ended.
func (s *Store) Keep(ctx context.Context, m channels.Inbound, i int, fetch Fetch) (channels.Attachment, error) {
	a := m.Attachments[i]
	a.Ref = ""
	if a.File != "" || a.Missing != "" {
		return a, nil
	}
	file := Name(m, i)
	size, err := s.size(file)
	switch {
	case err == nil:
		a.File, a.Bytes = file, size
		return a, nil
	case uploaded(m.Attachments[i].Ref):
		return s.adopt(a, m.Attachments[i].Ref, file), nil
	case fetch == nil:
		a.Missing = "files of this network cannot be fetched"
		return a, nil
	case a.Bytes > s.o.MaxBytes:
		a.Missing = "too large: " + channels.SizeText(a.Bytes)
		return a, nil
	}
	s.count()
	least := max(a.Bytes, 1)
	if !s.room.take(least) {
		a.Missing = noRoom.Why
		s.o.Logger.Warn("the files have reached media.max_total; this one is not downloaded", "channel", m.Key.Channel(), "msg_id", m.ID)
		return a, nil
	}
	s.room.give(least)
	size, err = s.attempts(ctx, file, fetch)
	if ctx.Err() != nil {
		return a, ctx.Err()
	}
	if err == nil {
		a.File, a.Bytes = file, size
		return a, nil
	}
	a.Missing, _ = why(err)
	s.o.Logger.Warn("an attachment is not available", "channel", m.Key.Channel(), "msg_id", m.ID, "why", a.Missing, "err", err)
	return a, nil
}

// attempts fetches file, again if the first time failed for a reason that may
// have passed.
func (s *Store) attempts(ctx context.Context, file string, fetch Fetch) (size int64, err error) {
	for n := 1; ; n++ {
		attempt, cancel := context.WithTimeout(ctx, s.o.Timeout)
		size, err = s.fetch(attempt, file, fetch)
		cancel()
		if err == nil || n == tries {
			return size, err
		}
		if _, final := why(err); final {
			return 0, err
		}
		wait := pause
		if retry := (*channels.Retry)(nil); errors.As(err, &retry) {
			if wait = max(wait, retry.After); wait > longestPause {
				return 0, err
			}
		}
		if channels.Sleep(ctx, wait); ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

// why puts err into a few words for the model and people. final: a second attempt
// would meet it again.
func why(err error) (text string, final bool) {
	var gone *channels.Gone
	switch {
	case errors.Is(err, errStoring):
		return "it could not be stored", true
	case errors.As(err, &gone):
		return gone.Why, true
	case errors.Is(err, channels.ErrPermanent):
		return "the network no longer has it", true
	case errors.Is(err, context.DeadlineExceeded):
		return "fetching it took too long", false
	}
	return "it could not be fetched", false
}

// fetch writes a file that is there whole or not at all. A *channels.Gone says why
// we do not take it.
func (s *Store) fetch(ctx context.Context, file string, fetch Fetch) (size int64, err error) {
	d, err := s.shelf.create()
	if err != nil {
		return 0, storing(err)
	}
	defer d.discard()
	w := &bounded{to: d, most: s.o.MaxBytes, room: &s.room}
	err = fetch(ctx, w)
	switch {
	case w.err != nil:
		err = w.err // whatever the network's code made of it
	case err == nil && w.size == 0:
		err = &channels.Gone{Why: "the file is empty"}
	case err == nil:
		if err = d.publish(file, time.Time{}); err != nil {
			err = storing(err)
		}
	}
	if err != nil {
		s.room.give(w.size)
		return 0, err
	}
	return w.size, nil
}

// bounded writes to a file and fails past its limit.
type bounded struct {
	to         io.Writer
	size, most int64
	room       *room
	err        error
}

// Write fails for good once it has failed.
func (w *bounded) Write(p []byte) (n int, err error) {
	more := int64(len(p))
	switch {
	case w.err != nil:
	case w.size+more > w.most:
		w.err = &channels.Gone{Why: "too large: more than " + channels.SizeText(w.most)}
	case !w.room.take(more):
		w.err = noRoom
	default:
		n, err = w.to.Write(p)
		w.size += int64(n)
		w.room.give(more - int64(n))
		if err != nil {
			w.err = storing(err)
		}
	}
	return n, w.err
}

// noRoom ends the fetching of a file that would take the folder past its
// limit. Nothing is ever removed to make room: what is kept is named in
// transcripts.
var noRoom = &channels.Gone{Why: "no room for more files here"}

// room counts the bytes of all files, those that are being written included.
type room struct {
	most   int64 // 0: no limit
	shared bool  // other nodes keep files, too
	mu     sync.Mutex
	// used is what the files take, if that was counted, and when.
	used    int64
	counted time.Time
}

// take reserves n bytes.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most > 0 && r.used+n > r.most {
		return false
	}
	r.used += n
	return true
}

// give returns bytes of what is not kept after all.
func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
}

// forget makes the next look count anew: files were removed.
func (r *room) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = time.Time{}
}

// recount is how long a node believes that no other has kept files.
const recount = 10 * time.Second

// count looks what all files take, unless that is known. It is not done at the
// start, which would grow with what is stored, but before the first fetch.
func (s *Store) count() {
	r := &s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most <= 0 || !r.counted.IsZero() && (!r.shared || time.Since(r.counted) < recount) {
		return
	}
	if used, err := s.shelf.used(); err == nil {
		r.used, r.counted = used, time.Now()
	}
}

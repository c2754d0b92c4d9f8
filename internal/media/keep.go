package media

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
)

const (
	// maxAttempts bounds the attempts to fetch one file within one turn.
	maxAttempts = 2
	// pause is the time between attempts. If the network asks for more than
	// longestPause, there is no other attempt within this turn.
	pause        = time.Second
	longestPause = 5 * time.Second
)

// errStoring is a failure of our own disk or database.
var errStoring = errors.New("media: store a file")

func storing(err error) error { return fmt.Errorf("%w: %w", errStoring, withoutPath(err)) }

// Fetch writes a file to w. See [channels.Fetcher].
type Fetch = func(ctx context.Context, w io.Writer) error

// Keep fetches attachment i of m, unless it is already kept. It returns the attachment
// for the transcript: without its Ref, and with its File, or with the reason in Missing.
// fetch is nil if the network cannot give files. Keep returns an error only if ctx ended.
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
	case isUpload(m.Attachments[i].Ref):
		return s.claimUpload(a, m.Attachments[i].Ref, file), nil
	case fetch == nil:
		a.Missing = "files of this network cannot be fetched"
		return a, nil
	case a.Bytes > s.o.MaxBytes:
		a.Missing = "too large: " + channels.SizeText(a.Bytes)
		return a, nil
	}
	s.countUsed()
	least := max(a.Bytes, 1)
	if !s.quota.reserve(least) {
		a.Missing = errNoRoom.Why
		s.o.Logger.Warn("the files have reached media.max_total; this one is not downloaded", "channel", m.Key.Channel(), "msg_id", m.ID)
		return a, nil
	}
	s.quota.release(least)
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

// attempts fetches file, and tries again after an error that may be temporary.
func (s *Store) attempts(ctx context.Context, file string, fetch Fetch) (size int64, err error) {
	for n := 1; ; n++ {
		attempt, cancel := context.WithTimeout(ctx, s.o.Timeout)
		size, err = s.fetch(attempt, file, fetch)
		cancel()
		if err == nil || n == maxAttempts {
			return size, err
		}
		if _, final := why(err); final {
			return 0, err
		}
		wait := pause
		if retry, ok := errors.AsType[*channels.Retry](err); ok {
			wait = max(wait, retry.After)
			if wait > longestPause {
				return 0, err
			}
		}
		channels.Sleep(ctx, wait)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

// why describes err in a few words for the model and people. final: another attempt
// would fail as well.
func why(err error) (text string, final bool) {
	gone, isGone := errors.AsType[*channels.Gone](err)
	switch {
	case errors.Is(err, errStoring):
		return "it could not be stored", true
	case isGone:
		return gone.Why, true
	case errors.Is(err, channels.ErrPermanent):
		return "the network no longer has it", true
	case errors.Is(err, context.DeadlineExceeded):
		return "fetching it took too long", false
	}
	return "it could not be fetched", false
}

// fetch fetches and publishes a file. Errors: *channels.Gone if the file is refused.
func (s *Store) fetch(ctx context.Context, file string, fetch Fetch) (size int64, err error) {
	d, err := s.files.create()
	if err != nil {
		return 0, storing(err)
	}
	defer d.discard()
	w := &boundedWriter{to: d, limit: s.o.MaxBytes, quota: &s.quota}
	err = fetch(ctx, w)
	switch {
	case w.err != nil:
		err = w.err // fetch may have wrapped or dropped it
	case err == nil && w.size == 0:
		err = &channels.Gone{Why: "the file is empty"}
	case err == nil:
		if err = d.publish(file, time.Time{}); err != nil {
			err = storing(err)
		}
	}
	if err != nil {
		s.quota.release(w.size)
		return 0, err
	}
	return w.size, nil
}

// boundedWriter writes to a file and fails beyond its limit or the quota.
type boundedWriter struct {
	to          io.Writer
	size, limit int64
	quota       *quota
	err         error
}

// Write returns the first error again in each later call.
func (w *boundedWriter) Write(p []byte) (n int, err error) {
	more := int64(len(p))
	switch {
	case w.err != nil:
	case w.size+more > w.limit:
		w.err = &channels.Gone{Why: "too large: more than " + channels.SizeText(w.limit)}
	case !w.quota.reserve(more):
		w.err = errNoRoom
	default:
		n, err = w.to.Write(p)
		w.size += int64(n)
		w.quota.release(more - int64(n))
		if err != nil {
			w.err = storing(err)
		}
	}
	return n, w.err
}

// errNoRoom refuses a file that would exceed MaxTotal. The store never removes a file to
// make room, because transcripts name all of them.
var errNoRoom = &channels.Gone{Why: "no room for more files here"}

// quota counts the bytes of all files, including those that are being written.
type quota struct {
	limit   int64 // 0: none
	shared  bool  // other nodes keep files, too
	mu      sync.Mutex
	used    int64
	counted time.Time // when used was counted; zero: it is unknown
}

// reserve reports whether n more bytes fit, and counts them if so.
func (q *quota) reserve(n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 && q.used+n > q.limit {
		return false
	}
	q.used += n
	return true
}

// release returns reserved bytes that were not used.
func (q *quota) release(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= n
}

// invalidate makes the next countUsed count anew, because files were removed.
func (q *quota) invalidate() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counted = time.Time{}
}

// recountAfter is how long a count is valid while other nodes keep files.
const recountAfter = 10 * time.Second

// countUsed counts the bytes of all files, unless they are known. It runs before the
// first fetch and not at the start, which would take longer the more is stored.
func (s *Store) countUsed() {
	q := &s.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit <= 0 || !q.counted.IsZero() && (!q.shared || time.Since(q.counted) < recountAfter) {
		return
	}
	if used, err := s.files.used(); err == nil {
		q.used, q.counted = used, time.Now()
	}
}

const (
	// uploadDir holds uploads until the turn of their message begins. It is not a key's
	// folder, because the name of each of those has a "_".
	uploadDir = "uploads"
	// uploadMark begins the Ref of an upload. The rest cannot be guessed, so that only
	// the sender can name the file.
	uploadMark = "upload:"
)

// Put keeps an upload, a file that was sent to us and not to a network. ref is a Ref for
// [channels.Attachment]. Errors: *channels.Gone if the file is refused.
func (s *Store) Put(ctx context.Context, r io.Reader) (ref string, size int64, err error) {
	name := strings.ToLower(rand.Text())
	s.countUsed()
	size, err = s.fetch(ctx, uploadDir+"/"+name, func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("media: keep a file: %w", err)
	}
	return uploadMark + name, size, nil
}

// Sent opens attachment i of m, an upload, before and after its turn has begun.
func (s *Store) Sent(m channels.Inbound, i int) (io.ReadCloser, int64, error) {
	f, size, err := s.files.open(Name(m, i))
	if errors.Is(err, fs.ErrNotExist) && isUpload(m.Attachments[i].Ref) {
		f, size, err = s.files.open(uploadFile(m.Attachments[i].Ref))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("media: open what was sent: %w", withoutPath(err))
	}
	return f, size, nil
}

func isUpload(ref string) bool {
	name, found := strings.CutPrefix(ref, uploadMark)
	return found && len(name) >= 26 && alphanumeric(name)
}

func uploadFile(ref string) string { return uploadDir + "/" + strings.TrimPrefix(ref, uploadMark) }

func (s *Store) claimUpload(a channels.Attachment, ref, file string) channels.Attachment {
	err := s.files.rename(uploadFile(ref), file)
	size, looked := s.size(file)
	switch {
	case err == nil && looked == nil:
		a.File, a.Bytes = file, size
	case errors.Is(err, fs.ErrNotExist):
		a.Missing = "it is no longer here"
	default:
		a.Missing, _ = why(storing(errors.Join(err, looked)))
		s.o.Logger.Warn("an attachment is not available", "why", a.Missing, "err", withoutPath(errors.Join(err, looked)))
	}
	return a
}

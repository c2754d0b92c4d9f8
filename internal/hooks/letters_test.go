package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/internal/hooks"
	"dragoman/internal/stream"
	"dragoman/internal/testkit"
	"dragoman/internal/webhook"
	"dragoman/sessions"
)

// notes is a store in memory, which outlives the hooks over it.
type notes struct {
	mu   sync.Mutex
	list []sessions.Note
	fail func(put []sessions.Note, remove []string) error // nil: never
}

func (n *notes) Notes(_ context.Context, f sessions.NoteFilter) (found []sessions.Note, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.list {
		if one.Kind == f.Kind && (f.Owner == "" || one.Owner == f.Owner) && (f.Name == "" || one.Name == f.Name) {
			found = append(found, one)
		}
	}
	return found, nil
}

func (n *notes) ChangeNotes(_ context.Context, kind, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var have []sessions.Note
	for _, one := range n.list {
		if one.Kind == kind && one.Owner == owner {
			have = append(have, one)
		}
	}
	put, remove, err := change(have)
	if err == nil && n.fail != nil {
		err = n.fail(put, remove)
	}
	if err != nil {
		return err
	}
	for _, one := range put {
		remove = append(remove, one.Name)
	}
	n.list = slices.DeleteFunc(n.list, func(one sessions.Note) bool {
		return one.Kind == kind && one.Owner == owner && slices.Contains(remove, one.Name)
	})
	for _, one := range put {
		one.Kind, one.Owner = kind, owner
		n.list = append(n.list, one)
	}
	return nil
}

func (n *notes) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.list)
}

// post is a request that a server got.
type post struct {
	header http.Header
	body   string
}

// server records requests, and answers the n-th with statuses[n], the later ones with the last.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	got      []post
	statuses []int
	after    string // its Retry-After
}

func serve(t *testing.T, statuses ...int) *server {
	t.Helper()
	s := &server{statuses: statuses}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		status := http.StatusNoContent
		if n := len(s.statuses); n > 0 {
			status = s.statuses[min(len(s.got), n-1)]
		}
		s.got = append(s.got, post{r.Header.Clone(), string(body)})
		switch {
		case status == http.StatusFound:
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		case status == http.StatusTooManyRequests:
			w.Header().Set("Retry-After", s.after)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) posts() []post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *server) answer(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = statuses
	s.got = nil
}

func key(t *testing.T, text string) webhook.Key {
	t.Helper()
	k, err := webhook.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const (
	newSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	oldSecret = "whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY="
)

var quick = []time.Duration{time.Millisecond, time.Millisecond}

func posted(s *server) hooks.Hook {
	return hooks.Hook{Name: "shop", On: []stream.Name{stream.TurnDone, stream.SessionSave}, URL: s.URL + "/in/canary", Secret: "s3cret"}
}

// An event is posted with its JSON, the bearer secret, an id, and a signature by each key.
func TestSignedPost(t *testing.T) {
	srv := serve(t)
	h := posted(srv)
	h.Signing = []webhook.Key{key(t, newSecret), key(t, oldSecret)}
	store := &notes{}
	w := start(t, hooks.Options{Store: store}, h)
	defer w.stop() // before the server: it waits for idle connections
	w.Emit(turnDone)
	testkit.Eventually(t, "the letter to be done", func() bool { return len(srv.posts()) == 1 && store.count() == 0 })
	got := srv.posts()[0]
	body, _ := json.Marshal(turnDone)
	if got.body != string(body) || got.header.Get("Authorization") != "Bearer s3cret" || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("the server got %v %s, want the event and the secret", got.header, got.body)
	}
	id, at := got.header.Get("webhook-id"), got.header.Get("webhook-timestamp")
	signed := got.header.Get("webhook-signature")
	if seconds, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute || !strings.HasPrefix(id, "msg_") {
		t.Errorf("the id is %q and the time %q, want msg_… and now", id, at)
	}
	if len(strings.Fields(signed)) != 2 {
		t.Errorf("the signature is %q, want one of each key", signed)
	}
	for _, secret := range []string{newSecret, oldSecret} {
		if !webhook.Verify([]webhook.Key{key(t, secret)}, id, at, signed, body) {
			t.Errorf("the signature %q is not that of %s", signed, secret)
		}
	}
	w.stop()
	if strings.Contains(w.log.String(), "s3cret") || strings.Contains(w.log.String(), "canary") {
		t.Errorf("the log shows a secret: %s", w.log.String())
	}
}

// Whatever a server answers but 2xx, the letter is sent again, with the same id; redirects
// are not followed.
func TestRepeatsHaveOneID(t *testing.T) {
	srv := serve(t, http.StatusInternalServerError, http.StatusFound, http.StatusAccepted)
	store := &notes{}
	w := start(t, hooks.Options{Store: store, Pauses: quick}, posted(srv))
	defer w.stop()
	w.Emit(turnDone)
	testkit.Eventually(t, "the third attempt", func() bool { return w.seen.get("turn_done ok") == 1 && store.count() == 0 })
	got := srv.posts()
	if len(got) != 3 || w.seen.get("turn_done failed") != 2 {
		t.Fatalf("%d posts, %d failures; want 3 and 2", len(got), w.seen.get("turn_done failed"))
	}
	for _, p := range got[1:] {
		if p.header.Get("webhook-id") != got[0].header.Get("webhook-id") || p.body != got[0].body {
			t.Errorf("a repeat is %v %s, want that of %v %s", p.header, p.body, got[0].header, got[0].body)
		}
	}
}

// A letter that nobody takes is dead in the end, is in the queue, and can be tried again or
// dropped there.
func TestDeadLetters(t *testing.T) {
	srv := serve(t, http.StatusInternalServerError)
	store := &notes{}
	w := start(t, hooks.Options{Store: store, Pauses: quick}, posted(srv))
	defer w.stop()
	w.Emit(turnDone)
	w.Emit(turnDone)
	testkit.Eventually(t, "two dead letters", func() bool { return w.seen.get("turn_done dead") == 2 })
	list, err := w.List(t.Context())
	if err != nil || len(list) != 2 || list[0].State != sessions.QueueDead || list[0].Attempts != 3 || list[0].Key != turnDone.Key ||
		!strings.Contains(list[0].Error, "500") || !strings.HasPrefix(list[0].ID, "hook/shop/msg_") || !hooks.Owns(list[0].ID) {
		t.Fatalf("the queue is %+v, %v; want two dead entries of the hook", list, err)
	}
	if it, err := w.Show(t.Context(), list[0].ID); err != nil || !strings.Contains(it.Text, `"turn_done"`) {
		t.Errorf("Show = %+v, %v; want the event", it, err)
	}
	srv.answer(http.StatusOK)
	if err := w.Retry(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the retry", func() bool { return w.seen.get("turn_done ok") == 1 })
	if err := w.Drop(t.Context(), list[1].ID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "an empty store", func() bool { return store.count() == 0 })
	for name, do := range map[string]func(context.Context, string) error{"retry": w.Retry, "drop": w.Drop} {
		if err := do(t.Context(), list[1].ID); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s of a letter that is gone = %v, want ErrNotFound", name, err)
		}
	}
}

// A server that answers 410 gets nothing more, also after a restart, until somebody retries
// one of its letters.
func TestGoneSwitchesOff(t *testing.T) {
	srv := serve(t, http.StatusGone)
	store := &notes{}
	hook := posted(srv)
	w := start(t, hooks.Options{Store: store, Pauses: quick}, hook)
	w.Emit(turnDone)
	testkit.Eventually(t, "the hook to be off", func() bool { return len(w.Off()) == 1 })
	w.Emit(turnDone)
	testkit.Eventually(t, "a dropped event", func() bool { return w.seen.get("turn_done dropped") == 1 })
	w.stop()

	w = start(t, hooks.Options{Store: store, Pauses: quick}, hook)
	defer w.stop()
	testkit.Eventually(t, "the hook to be off still", func() bool { return len(w.Off()) == 1 })
	if n := len(srv.posts()); n != 1 {
		t.Errorf("%d posts, want 1", n)
	}
	list, err := w.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("the queue is %v, %v; want the letter", list, err)
	}
	srv.answer(http.StatusOK)
	if err := w.Retry(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the retry", func() bool { return w.seen.get("turn_done ok") == 1 })
	w.Emit(turnDone)
	testkit.Eventually(t, "the next event", func() bool { return w.seen.get("turn_done ok") == 2 })
	if off := w.Off(); len(off) != 0 {
		t.Errorf("%v is off, want none", off)
	}
}

// A Retry-After holds back the whole hook.
func TestRetryAfter(t *testing.T) {
	srv := serve(t, http.StatusTooManyRequests, http.StatusOK)
	srv.after = "120"
	store := &notes{}
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := start(t, hooks.Options{Store: store, Pauses: quick, Now: now, Look: 5 * time.Millisecond}, posted(srv))
	defer w.stop()
	w.Emit(turnDone)
	testkit.Eventually(t, "the refusal", func() bool { return w.seen.get("turn_done failed") == 1 })
	w.Emit(stream.Event{Event: stream.SessionSave, Key: turnDone.Key, At: now()})
	ahead.Store(int64(110 * time.Second))
	testkit.Eventually(t, "the second letter", func() bool { return store.count() == 2 })
	time.Sleep(50 * time.Millisecond) // ten looks
	if n := len(srv.posts()); n != 1 {
		t.Errorf("%d posts before the Retry-After, want 1", n)
	}
	ahead.Store(int64(121 * time.Second))
	testkit.Eventually(t, "both", func() bool { return w.seen.get("turn_done ok") == 1 && w.seen.get("session_save ok") == 1 })
}

// oneTurn are the events of a turn.
func oneTurn() []stream.Event { return []stream.Event{turnDone} }

// Without a hook that posts, nobody asks what happened in a turn.
func TestKeepsNothingWithoutHooks(t *testing.T) {
	h := hooks.New(nil, hooks.Options{Store: &notes{}})
	list := h.Keep(func() []stream.Event {
		t.Error("asked for the events of a turn")
		return nil
	})
	if len(list) > 0 {
		t.Errorf("%d notes, want none", len(list))
	}
}

// A process that is killed after a turn's commit loses no letter about it: the next one
// sends it, with the id that it would have had.
func TestKilledBetweenCommitAndPost(t *testing.T) {
	srv := serve(t)
	store := &notes{}
	killed := hooks.New([]hooks.Hook{posted(srv)}, hooks.Options{Store: store})
	store.list = killed.Keep(oneTurn) // the commit; the process is killed before it publishes
	if len(store.list) != 1 {
		t.Fatalf("%d notes, want one", len(store.list))
	}
	want := store.list[0].Name
	if again := killed.Keep(oneTurn); again[0].Name == want {
		t.Errorf("another turn of the same name has the id %s, too", want)
	}
	w := start(t, hooks.Options{Store: store, Now: func() time.Time { return time.Now().Add(time.Minute) }}, posted(srv))
	defer w.stop()
	testkit.Eventually(t, "the letter", func() bool { return w.seen.get("turn_done ok") == 1 && store.count() == 0 })
	if got := srv.posts()[0].header.Get("webhook-id"); got != want {
		t.Errorf("its id is %s, want %s", got, want)
	}
}

// A letter that was stored with its turn is sent when the turn is known to be stored, with
// what was not known before.
func TestKeptLetterSaysWhatIsKnownLater(t *testing.T) {
	srv := serve(t)
	store := &notes{}
	w := start(t, hooks.Options{Store: store}, posted(srv))
	defer w.stop()
	store.mu.Lock()
	store.list = w.Keep(oneTurn)
	store.mu.Unlock()
	later := turnDone
	later.Kept = true
	later.TookMS = 42
	w.Emit(later)
	testkit.Eventually(t, "the letter", func() bool { return w.seen.get("turn_done ok") == 1 && store.count() == 0 })
	if got := srv.posts(); len(got) != 1 || !strings.Contains(got[0].body, `"took_ms":42`) {
		t.Errorf("the server got %v, want one event with took_ms", got)
	}
}

// A letter whose event never came, because events came too fast, is sent a little later.
func TestMissedEvents(t *testing.T) {
	srv := serve(t)
	store := &notes{}
	w := start(t, hooks.Options{Store: store}, posted(srv))
	defer w.stop()
	if !w.Wants(stream.TurnDone) || w.Wants(stream.DiskFull) {
		t.Error("Wants names other events than the hook")
	}
	store.mu.Lock()
	store.list = w.Keep(oneTurn)
	store.mu.Unlock()
	w.Missed()
	testkit.Eventually(t, "the letter", func() bool { return w.seen.get("turn_done ok") == 1 && store.count() == 0 })
}

// A process that is killed between the POST and its record sends the letter again, with the
// same id.
func TestKilledBetweenPostAndRecord(t *testing.T) {
	srv := serve(t)
	store := &notes{}
	var once sync.Once
	ctx, kill := context.WithCancel(t.Context())
	store.fail = func(_ []sessions.Note, remove []string) (err error) {
		if len(remove) > 0 {
			once.Do(func() {
				err = errors.New("killed")
				kill()
			})
		}
		return err
	}
	first := hooks.New([]hooks.Hook{posted(srv)}, hooks.Options{Store: store, DrainLimit: time.Nanosecond})
	first.Emit(turnDone)
	if err := first.Run(ctx); err != nil {
		t.Fatal(err)
	}
	w := start(t, hooks.Options{Store: store}, posted(srv))
	defer w.stop()
	testkit.Eventually(t, "the letter to be done", func() bool { return store.count() == 0 })
	got := srv.posts()
	if len(got) < 2 || got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") {
		t.Errorf("the server got %v, want the same id at least twice", got)
	}
}

// A letter whose conversation was erased while its server failed does not come back.
func TestErasedLetter(t *testing.T) {
	srv := serve(t, http.StatusInternalServerError)
	store := &notes{}
	store.fail = func(put []sessions.Note, _ []string) error {
		if len(put) == 1 && strings.Contains(string(put[0].Data), "500") {
			t.Error("the letter was stored again after it was erased")
		}
		return nil
	}
	w := start(t, hooks.Options{Store: store, Pauses: quick}, posted(srv))
	defer w.stop()
	done := make(chan struct{})
	srv.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		store.mu.Lock()
		store.list = nil
		store.mu.Unlock()
		rw.WriteHeader(http.StatusInternalServerError)
		close(done)
	})
	w.Emit(turnDone)
	<-done
	testkit.Eventually(t, "the failure", func() bool { return w.seen.get("turn_done failed") == 1 })
}

// While the store cannot write, an event is sent once, from memory.
func TestStoreThatCannotWrite(t *testing.T) {
	srv := serve(t, http.StatusInternalServerError)
	store := &notes{fail: func([]sessions.Note, []string) error { return errors.New("no space left on device") }}
	w := start(t, hooks.Options{Store: store, Pauses: quick}, posted(srv))
	defer w.stop()
	w.Emit(turnDone)
	testkit.Eventually(t, "the attempt", func() bool { return w.seen.get("turn_done failed") == 1 })
	if n := len(srv.posts()); n != 1 {
		t.Errorf("%d posts, want one", n)
	}
}

// The log distinguishes hooks on one host by their index in the configuration, even
// after a reload. It does not have the path, which may be secret.
func TestHooksOfOneHostInTheLog(t *testing.T) {
	var works atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer srv.Close()
	one := hooks.Hook{On: []stream.Name{stream.TurnDone}, URL: srv.URL + "/canary-one"}
	two := hooks.Hook{On: []stream.Name{stream.TurnDone}, URL: srv.URL + "/canary-two"}
	w := start(t, hooks.Options{Store: &notes{}, Pauses: []time.Duration{time.Hour}}, one, two)
	host := strings.TrimPrefix(srv.URL, "http://")
	host, _, _ = strings.Cut(host, ":")
	told := func(want int, name string) {
		t.Helper()
		name += " " + host
		testkit.Eventually(t, name+" in the log", func() bool { return strings.Count(w.log.String(), name) == want })
	}
	w.Emit(turnDone)
	told(1, "hooks[0]")
	told(1, "hooks[1]")
	w.Replace([]hooks.Hook{two})
	works.Store(true)
	w.Emit(turnDone)
	told(2, "hooks[0]")
	told(1, "hooks[1]")
	if strings.Contains(w.log.String(), "canary") {
		t.Errorf("the log shows a path: %s", w.log.String())
	}
}

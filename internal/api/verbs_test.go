package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/plain"
	"dragoman/internal/web"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func now() time.Time { return began }

// filled is a store with one answered chat, one dead delivery, one quarantined
// message, one waiting message, and one person who asks to be let in.
func filled(t *testing.T) *sqlitetest.Store {
	t.Helper()
	s := sqlitetest.Open(t, now)
	ctx := context.Background()
	accept := func(key, id, text string, e sessions.Entry) {
		t.Helper()
		e.Inbound = channels.Inbound{Key: channels.MustKey(key), ID: id, Text: text, Sender: channels.Person{IDs: []string{"1"}}}
		if _, err := s.Accept(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	accept("telegram:1", "a", "hello", sessions.Entry{
		Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hello"}, {Role: sessions.RoleAssistant, Content: "hi"}},
		Replies: []sessions.Reply{{Text: "hi"}},
	})
	accept("irc:#go/../x?y&z", "b", "wait", sessions.Entry{})
	if err := s.Quarantine(ctx, sessions.Quarantined{Channel: "telegram", ID: "9", Raw: []byte("{"), Why: "no JSON"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.RequestPairing(ctx, sessions.Pairing{
		Channel: "telegram", PersonID: "7", Name: "Ann", Code: "AAAA-BBBB", Expires: began.Add(time.Hour),
	}, began, 3); err != nil {
		t.Fatal(err)
	}
	return s
}

// optionsOf are options for the verbs on s.
func optionsOf(s *sqlitetest.Store) api.Options {
	return api.Options{
		Tokens: people.NewTokens(s, people.Options{Now: now}),
		Store:  api.Store{Conversations: s, Transcripts: s, Queue: s, JobLog: s, People: s, Facts: s, Copies: s, Health: s, Counted: s},
		Eraser: erasure.New(erasure.Options{Store: s, Now: now}), Now: now, Info: func() api.Info { return api.Info{} },
	}
}

type scheduler struct{ ran []string }

func (s *scheduler) Jobs(context.Context) ([]api.Job, error) {
	return []api.Job{{Name: "morning", Schedule: "every 1h", Target: "telegram:1", Next: began}}, nil
}

func (s *scheduler) Upcoming(_ context.Context, j api.Job, _ time.Time) ([]time.Time, error) {
	return []time.Time{j.Next}, nil
}

func (s *scheduler) PauseJob(context.Context, string, bool) error { return nil }

func (s *scheduler) RunJob(_ context.Context, name string) error {
	if name != "morning" {
		return fmt.Errorf("heartbeat: run %s: %w", name, sessions.ErrNotFound)
	}
	s.ran = append(s.ran, name)
	return nil
}

// clients runs a test over the socket and in the process; both must behave
// alike.
func clients(t *testing.T, o func() api.Options, f func(t *testing.T, c *api.Client)) {
	t.Helper()
	t.Run("in process", func(t *testing.T) {
		c := api.InProcess(api.New(o()))
		defer c.Close()
		f(t, c)
	})
	for name, dir := range map[string]string{"socket": "s", "socket in a deep folder": strings.Repeat("deep/", 30)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), dir, "dragoman.sock")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			stop := serve(t, path, api.Socket(api.New(o())))
			defer stop()
			c := api.Dial(path)
			defer c.Close()
			f(t, c)
		})
	}
}

// post returns the status of the answer to the operator.
func post(h http.Handler, target, body string) int {
	return asked(h, "POST", target, body).Code
}

func serve(t *testing.T, path string, h http.Handler) (stop func()) {
	t.Helper()
	ln, err := web.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- web.Serve(ctx, ln, h, web.ServeOptions{Grace: time.Second, Logger: slog.New(slog.DiscardHandler)})
	}()
	return func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func TestVerbs(t *testing.T) {
	jobs := &scheduler{}
	options := func() api.Options {
		o := optionsOf(filled(t))
		o.Jobs, o.Info = jobs, func() api.Info { return api.Info{Version: "v1", Running: true} }
		return o
	}
	clients(t, options, func(t *testing.T, c *api.Client) {
		t.Run("status", func(t *testing.T) { testStatus(t, c) })
		t.Run("sessions", func(t *testing.T) { testSessions(t, c) })
		t.Run("queue", func(t *testing.T) { testQueue(t, c) })
		t.Run("jobs", func(t *testing.T) { testJobs(t, c, jobs) })
		t.Run("pairings", func(t *testing.T) { testPairings(t, c) })
	})
}

func testStatus(t *testing.T, c *api.Client) {
	s, err := api.ReadStatus.Call(t.Context(), c, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != "v1" || !s.Running || s.Waiting != 1 || s.Unsent != 1 || s.Quarantined != 1 || s.Problem != "" {
		t.Errorf("Status = %+v", s)
	}
}

func testSessions(t *testing.T, c *api.Client) {
	ctx, k := t.Context(), channels.MustKey("telegram:1")
	all, err := api.Find.Call(ctx, c, api.ConversationQuery{Limit: 10})
	if err != nil || len(all.Data) != 1 || all.Data[0].Key != k {
		t.Fatalf("Sessions = %v, %v", all, err)
	}
	page, err := api.ReadMessages.Call(ctx, c, api.Part{Key: k, Limit: 1, After: "0"})
	if err != nil || len(page.Data) != 1 || page.Data[0].Content != "hello" {
		t.Fatalf("Messages = %v, %v", page, err)
	}
	page, err = api.ReadMessages.Call(ctx, c, api.Part{Key: k, Limit: 10, After: fmt.Sprint(page.Data[0].Seq)})
	if err != nil || len(page.Data) != 1 || page.Data[0].Content != "hi" {
		t.Fatalf("next Messages = %v, %v", page, err)
	}
	if found, err := api.SearchAll.Call(ctx, c, api.Search{Key: k, Query: "hello", Limit: 5}); err != nil || len(found.Data) != 1 {
		t.Errorf("Search = %v, %v", found, err)
	}
	if err := api.Rename.Call(ctx, c, api.Title{Key: k, Title: "  Täglich & \"mehr\" "}); err != nil {
		t.Fatal(err)
	}
	if all, _ := api.Find.Call(ctx, c, api.ConversationQuery{Limit: 10}); all.Data[0].Title != `Täglich & "mehr"` {
		t.Errorf("Title = %q", all.Data[0].Title)
	}
	if err := api.Rename.Call(ctx, c, api.Title{Key: k, Title: strings.Repeat("x", 201)}); err == nil {
		t.Error("an endless title was taken")
	}
	if err := api.Rename.Call(ctx, c, api.Title{Key: k, Title: strings.Repeat("x", 100_000)}); err == nil {
		t.Error("an endless body was taken")
	}
	if err := api.Delete.Call(ctx, c, api.About{Key: k}); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete.Call(ctx, c, api.About{Key: k}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("second Delete = %v, want ErrNotFound", err)
	}
	if all, err := api.Find.Call(ctx, c, api.ConversationQuery{Limit: 10}); err != nil || all.Data == nil || len(all.Data) != 0 {
		t.Errorf("Sessions = %#v, %v, want an empty list", all, err)
	}
}

func testQueue(t *testing.T, c *api.Client) {
	ctx := t.Context()
	items, err := api.ListQueue.Call(ctx, c, api.QueueQuery{Limit: 100})
	if err != nil || len(items.Data) != 3 {
		t.Fatalf("Queue = %v, %v, want 3 items", items, err)
	}
	for _, item := range items.Data {
		if item.Text != "" {
			t.Errorf("the list shows text: %+v", item)
		}
		shown, err := api.ShowQueue.Call(ctx, c, api.Item{ID: item.ID})
		if err != nil || shown.ID != item.ID || shown.Text == "" {
			t.Errorf("QueueItem(%s) = %+v, %v", item.ID, shown, err)
		}
		if err := api.DropQueue.Call(ctx, c, api.Item{ID: item.ID}); err != nil {
			t.Errorf("DropQueue(%s) = %v", item.ID, err)
		}
	}
	if err := api.RetryQueue.Call(ctx, c, api.Item{ID: "out-999"}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("RetryQueue = %v, want ErrNotFound", err)
	}
	if items, err := api.ListQueue.Call(ctx, c, api.QueueQuery{Limit: 100}); err != nil || len(items.Data) != 0 {
		t.Errorf("Queue = %v, %v, want nothing", items, err)
	}
}

func testJobs(t *testing.T, c *api.Client, jobs *scheduler) {
	ctx := t.Context()
	jobs.ran = nil
	got, err := api.ListJobs.Call(ctx, c, api.JobQuery{})
	if err != nil || len(got.Data) != 1 || got.Data[0].Name != "morning" || !got.Data[0].Next.Equal(began) {
		t.Fatalf("Jobs = %+v, %v", got, err)
	}
	if len(got.Data[0].Upcoming) != 1 {
		t.Errorf("the job comes at %v, want once", got.Data[0].Upcoming)
	}
	for _, q := range []api.JobQuery{{Kind: "reminder"}, {Text: "evening"}} {
		if got, err := api.ListJobs.Call(ctx, c, q); err != nil || len(got.Data) != 0 {
			t.Errorf("Jobs of %+v = %+v, %v, want none", q, got, err)
		}
	}
	if got, err := api.ListJobs.Call(ctx, c, api.JobQuery{Kind: "job", Text: "MORN"}); err != nil || len(got.Data) != 1 {
		t.Errorf("Jobs = %+v, %v, want the one of the morning", got, err)
	}
	if err := api.RunJob.Call(ctx, c, api.JobName{Name: "morning"}); err != nil {
		t.Fatal(err)
	}
	if err := api.RunJob.Call(ctx, c, api.JobName{Name: "evening"}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("RunJob = %v, want ErrNotFound", err)
	}
	if diff := cmp.Diff([]string{"morning"}, jobs.ran); diff != "" {
		t.Error(diff)
	}
	if log, err := api.ListOccurrences.Call(ctx, c, api.JobLimited{Job: "", Limit: 10}); err != nil || log.Data == nil {
		t.Errorf("Occurrences = %#v, %v", log, err)
	}
}

func testPairings(t *testing.T, c *api.Client) {
	ctx := t.Context()
	if _, err := api.ApprovePairing.Call(ctx, c, api.Code{Code: "nope"}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("ApprovePairing = %v, want ErrNotFound", err)
	}
	p, err := api.ApprovePairing.Call(ctx, c, api.Code{Code: "aaaabbbb"})
	if err != nil || p.PersonID != "7" {
		t.Fatalf("ApprovePairing = %+v, %v", p, err)
	}
	list, err := api.ListPairings.Call(ctx, c, api.Limited{})
	if err != nil || len(list.Data) != 1 || list.Data[0].Approved.IsZero() {
		t.Fatalf("Pairings = %+v, %v", list, err)
	}
	if err := api.Unpair.Call(ctx, c, api.Paired{Channel: "telegram", Person: "7"}); err != nil {
		t.Fatal(err)
	}
	if err := api.Unpair.Call(ctx, c, api.Paired{Channel: "telegram", Person: "7"}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("second Unpair = %v, want ErrNotFound", err)
	}
}

// asked sends a request as the operator at the socket.
func asked(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	api.AsOperator(h).ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

func TestBadRequests(t *testing.T) {
	h := api.New(optionsOf(filled(t)))
	for _, tt := range []struct {
		name, method, target, body string
		status                     int
		param                      string
	}{
		{"a page too large", "GET", "/conversations?limit=201", "", 400, "limit"},
		{"a page of nothing", "GET", "/conversations?limit=0", "", 400, "limit"},
		{"a negative page", "GET", "/conversations?limit=-1", "", 400, "limit"},
		{"too many messages", "GET", "/conversations/telegram:1/messages?limit=1000", "", 400, "limit"},
		{"too many hits", "GET", "/search?query=x&limit=1000", "", 400, "limit"},
		{"too many in the queue", "GET", "/queue?limit=201", "", 400, "limit"},
		{"no number", "GET", "/conversations?limit=x", "", 400, "limit"},
		{"half a number", "GET", "/conversations?limit=1.5", "", 400, "limit"},
		{"a huge number", "GET", "/conversations?limit=99999999999999999999", "", 400, "limit"},
		{"no truth value", "GET", "/conversations?mine=perhaps", "", 400, "mine"},
		{"no place", "GET", "/conversations?after=x", "", 400, "after"},
		{"an unknown argument", "GET", "/conversations?lmit=7", "", 400, "lmit"},
		{"an argument with parts", "GET", "/conversations?tag.x=7", "", 400, "tag"},
		{"an argument twice", "GET", "/conversations?limit=1&limit=2", "", 400, "limit"},
		{"a part twice", "GET", "/conversations?meta.a=1&meta.a=2", "", 400, "meta.a"},
		{"no key", "GET", "/conversations/x/messages", "", 400, "key"},
		{"no message", "GET", "/conversations/telegram:1/messages?after=x", "", 400, "after"},
		{"no key in a search", "GET", "/search?query=x&key=x", "", 400, "key"},
		{"no time", "GET", "/search?query=x&from=x", "", 400, "from"},
		{"not JSON", "POST", "/conversations/telegram:1/join", "{", 400, ""},
		{"no object", "POST", "/conversations/telegram:1/join", "[1]", 400, ""},
		{"no body", "POST", "/conversations/telegram:1/join", "", 400, "to"},
		{"null", "POST", "/conversations/telegram:1/join", "null", 400, "to"},
		{"the wrong kind", "PATCH", "/conversations/telegram:1", `{"model": 7}`, 400, "model"},
		{"an unknown field", "PATCH", "/conversations/telegram:1", `{"modell": "x"}`, 400, "modell"},
		{"too long", "PATCH", "/conversations/telegram:1", `{"model": "` + strings.Repeat("x", 1<<20) + `"}`, 413, ""},
		{"wrong method", "PATCH", "/queue", "", 405, ""},
		{"unknown", "GET", "/config", "", 404, ""},
		{"no daemon for jobs", "POST", "/jobs/x/run", "", 503, ""},
		{"nothing of that name", "GET", "/queue/out%2F9", "", 404, ""},
		{"no key for a question", "POST", "/ask", `{"text": "hello"}`, 503, ""},
		{"nothing to erase", "POST", "/erasures", "{}", 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := asked(h, tt.method, api.Root+tt.target, tt.body)
			var body struct {
				Error struct {
					Message, Type, Code string
					Param               *string
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != tt.status || body.Error.Message == "" || body.Error.Code == "" {
				t.Fatalf("status %d, want %d with a refusal: %s", w.Code, tt.status, w.Body)
			}
			param := ""
			if body.Error.Param != nil {
				param = *body.Error.Param
			}
			if param != tt.param {
				t.Errorf("it blames %q, want %q: %s", param, tt.param, w.Body)
			}
		})
	}
}

// What there is not is named as callers know it, without words of the store, and whatever
// the verb.
func TestNothingOfThatName(t *testing.T) {
	h := api.New(optionsOf(filled(t)))
	for target, want := range map[string]string{
		"GET /conversations/web:nope":           `There is no conversation "web:nope".`,
		"DELETE /conversations/web:nope":        `There is no conversation "web:nope".`,
		"GET /queue/out%2F9":                    `There is no entry "out/9" in the queue.`,
		"DELETE /tokens/mine":                   `There is no token "mine".`,
		"DELETE /tokens/mine?person=telegram:9": `There is no token "mine".`,
		"DELETE /pairings/telegram/7":           `There is no paired person "7".`,
		"DELETE /facts/9?target=telegram:1":     `There is no fact "9".`,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := asked(h, method, api.Root+path, "")
		var body struct{ Error struct{ Message string } }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 404 || body.Error.Message != want {
			t.Errorf("%s = %d %s, want %q", target, w.Code, w.Body, want)
		}
	}
}

// A full disk passes, and everybody may know of it: it is no mistake of ours.
func TestDiskIsFull(t *testing.T) {
	for text, want := range map[string]int{
		"gateway: ask in web:x: sqlite: accept: the disk is full: database or disk is full (13)": 503,
		"postgres: accept: the disk of PostgreSQL at 127.0.0.1:5432 is full (no space)":          503,
		"gateway: ask in web:x: sqlite: accept: out of memory":                                   500,
	} {
		o := optionsOf(filled(t))
		o.Ask = func(context.Context, api.Question) (string, error) { return "", errors.New(text) }
		w := asked(api.New(o), "POST", api.Root+"/ask", `{"key": "web:x", "text": "hello"}`)
		if w.Code != want || strings.Contains(w.Body.String(), "is full: messages are not accepted until there is space.") != (want == 503) {
			t.Errorf("%s: %d %s, want %d", text, w.Code, w.Body, want)
		}
	}
}

// A body that says it is something else than JSON is refused. curl calls all a form.
func TestTypesOfBodies(t *testing.T) {
	h := api.AsOperator(api.New(optionsOf(filled(t))))
	for kind, want := range map[string]int{
		"": 200, "application/json": 200, "application/json; charset=utf-8": 200, "application/x-www-form-urlencoded": 200,
		"multipart/form-data; boundary=x": 415, "text/plain": 415, "application/": 415,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("PATCH", api.Root+"/conversations/telegram:1", strings.NewReader(`{"model": "m"}`))
		r.Header.Set("Content-Type", kind)
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: status %d, want %d: %s", kind, w.Code, want, w.Body)
		}
	}
}

// Programs read lists as docs/api.md says.
func TestAddresses(t *testing.T) {
	h := api.New(optionsOf(filled(t)))
	for target, want := range map[string]int{
		"/conversations":                                                                 1,
		"/conversations?limit=200":                                                       1,
		"/conversations?channel=irc":                                                     0,
		"/conversations?meta.colour=red":                                                 0,
		"/search?query=hello&key=telegram:1&limit=5":                                     1,
		"/search?query=hello&from=2125-01-01T00:00:00Z":                                  0,
		"/conversations/telegram:1/messages?after=0&limit=1":                             1,
		"/conversations/telegram:1/messages?before=2000-01-01T00:00:00Z":                 0,
		"/conversations/irc%3A%23go%2F..%2Fx%3Fy&z/messages?before=2000-01-01T00:00:00Z": 0,
		"/queue": 3,
		"/jobs":  0,
	} {
		w := asked(h, "GET", api.Root+target, "")
		var found struct{ Data []json.RawMessage }
		if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil || w.Code != 200 || len(found.Data) != want {
			t.Errorf("%s: status %d, %s, want %d items", target, w.Code, w.Body, want)
		}
	}
	if w := asked(h, "DELETE", api.Root+"/conversations/telegram:1", ""); w.Code != 204 || w.Body.Len() > 0 {
		t.Errorf("DELETE: status %d, %q, want 204 and nothing", w.Code, w.Body)
	}
}

// A daemon with another wireForm may misunderstand a request: only its status
// is believed. One from before the paths below /api/v1 did nothing at all.
func TestDaemonOfAnotherVersion(t *testing.T) {
	for form, want := range map[string]struct{ status, search string }{
		"2": {"older than this command", "older than this command"},
		"4": {"", "another version"},
		"":  {"", "another version"},
	} {
		path := filepath.Join(t.TempDir(), "s")
		stop := serve(t, path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Dragoman-Form", form)
			if form == "2" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte("{}"))
		}))
		c := api.Dial(path)
		_, err := api.ReadStatus.Call(t.Context(), c, api.None{})
		if got := plain.Text(err); !strings.Contains(got, want.status) || (got == "") != (want.status == "") {
			t.Errorf("form %q: ReadStatus = %v, want %q", form, err, want.status)
		}
		_, err = api.SearchAll.Call(t.Context(), c, api.Search{Query: "tea"})
		if err == nil || !strings.Contains(plain.Text(err), want.search) {
			t.Errorf("form %q: SearchAll = %v, want %q", form, err, want.search)
		}
		c.Close()
		stop()
	}
}

// A command line from before /api/v1 is told so, in the form that it reads.
func TestCommandOfAnotherVersion(t *testing.T) {
	h := api.Socket(api.New(optionsOf(filled(t))))
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "/v1/status", strings.NewReader("{}")),
		httptest.NewRequest("POST", "/v1/sessions/delete", strings.NewReader(`"telegram:1"`)),
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var body map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code == 200 || w.Header().Get("Dragoman-Form") != "2" ||
			!strings.Contains(body["error"], "newer than this command") {
			t.Errorf("%s: status %d, form %q, %s", r.URL, w.Code, w.Header().Get("Dragoman-Form"), w.Body)
		}
	}
}

// broken is a store that cannot be read; status answers all the same.
type broken struct{}

func (broken) Check(context.Context) error { return fmt.Errorf("sqlite: check: %w", syscall.ENOSPC) }

func (broken) Stats(context.Context) (sessions.Stats, error) {
	return sessions.Stats{}, errors.New("sqlite: count")
}

func TestStatusOfABrokenStore(t *testing.T) {
	o := optionsOf(filled(t))
	o.Store.Health, o.Info = broken{}, func() api.Info { return api.Info{Version: "v1"} }
	c := api.InProcess(api.New(o))
	s, err := api.ReadStatus.Call(t.Context(), c, api.None{})
	if err != nil || s.Version != "v1" || !strings.Contains(s.Problem, "disk is full") {
		t.Errorf("Status = %+v, %v", s, err)
	}
}

func TestSocketIsPrivateAndReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dragoman.sock")
	h := api.Socket(api.New(optionsOf(filled(t))))

	// A daemon that was killed leaves its socket behind.
	dead, err := web.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".kept"); err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	if err := os.Rename(path+".kept", path); err != nil {
		t.Fatal(err)
	}
	c := api.Dial(path)
	defer c.Close()
	if _, err := api.ReadStatus.Call(t.Context(), c, api.None{}); err == nil {
		t.Fatal("a dead socket answers")
	}
	stop := serve(t, path, h)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if _, err := api.ReadStatus.Call(t.Context(), c, api.None{}); err != nil {
		t.Error(err)
	}
	stop()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}

	// A file that is no socket is not ours to remove.
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := web.ListenSocket(path); err == nil {
		t.Error("a file was replaced by a socket")
	}
	if data, _ := os.ReadFile(path); string(data) != "precious" {
		t.Error("the file is gone")
	}
}

func TestForeignAnswer(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"HTML":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); _, _ = w.Write([]byte("<html>")) },
		"empty": func(w http.ResponseWriter, _ *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			c := api.InProcess(h)
			if _, err := api.ReadStatus.Call(t.Context(), c, api.None{}); err == nil {
				t.Error("Status = nil, want an error")
			}
		})
	}
}

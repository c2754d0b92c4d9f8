package crash_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/internal/webhook"
)

const hookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// listener is the server of a hook: it checks signatures and remembers ids.
type listener struct {
	*httptest.Server
	mu  sync.Mutex
	ids map[string][]string // by event, each once
	n   map[string]int      // posts by event
	// status is what it answers; 0: 200. hold, if not nil, holds each answer back.
	status int
	hold   chan struct{}
}

func listen(t *testing.T) *listener {
	t.Helper()
	key, err := webhook.ParseKey(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{ids: map[string][]string{}, n: map[string]int{}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("webhook-id")
		if !webhook.Verify([]webhook.Key{key}, id, r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature"), body) {
			t.Errorf("a post is not signed: %v", r.Header)
		}
		_, rest, _ := strings.Cut(string(body), `"event":"`)
		event, _, _ := strings.Cut(rest, `"`)
		l.mu.Lock()
		status, hold := l.status, l.hold
		l.note(event, id)
		l.mu.Unlock()
		if hold != nil {
			<-hold
		}
		if status != 0 {
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// note notes a post. The caller holds l.mu.
func (l *listener) note(event, id string) {
	l.n[event]++
	if !slices.Contains(l.ids[event], id) {
		l.ids[event] = append(l.ids[event], id)
	}
}

// answer changes what it answers from now on.
func (l *listener) answer(status int, hold chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
	l.hold = hold
}

// posts are how often an event was posted, and under how many ids.
func (l *listener) posts(event string) (n, ids int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n[event], len(l.ids[event])
}

// got reports whether each event was posted.
func (l *listener) got(events ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if l.n[e] == 0 {
			return false
		}
	}
	return true
}

// untilDead waits for a process that is to kill itself.
func untilDead(t *testing.T, cmd *exec.Cmd, step string) {
	t.Helper()
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	select {
	case <-died:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatalf("the daemon passed no %s", step)
	}
}

// The daemon is killed at each step between a turn and the record that its hook has heard
// of it. Each event arrives, and its repeats have its id.
func TestHooksKilled(t *testing.T) {
	t.Parallel()
	for _, step := range stepsOf(
		t,
		"commit.before@1", "commit.after@1", "notes.webhook.before@1", "notes.webhook.after@1", "notes.webhook.before@2", "notes.webhook.after@2",
		"notes.webhook.before@3", "notes.webhook.after@3",
	) {
		t.Run(step, func(t *testing.T) {
			l := listen(t)
			p := newProgram(t)
			p.configure("hooks: [{name: shop, on: [session_create, session_save, turn_done], url: \"" + l.URL + "/in\", signing_secret: " + hookSecret + "}]\n")
			cmd := p.start(step)
			_, _ = p.ask("web:books")
			untilDead(t, cmd, step)
			cmd = p.start("")
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			events := []string{"session_create", "session_save", "turn_done"}
			for range 1000 {
				if l.got(events...) {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if _, err := p.ask("web:books"); err != nil { // the same once more: it has an answer
				t.Error(err)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, e := range events {
				if len(l.ids[e]) != 1 {
					t.Errorf("%s arrived with the ids %q, want one", e, l.ids[e])
				}
			}
		})
	}
}

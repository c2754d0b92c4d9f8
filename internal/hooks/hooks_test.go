package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/channels"
	"dragoman/internal/hooks"
	"dragoman/internal/stream"
	"dragoman/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tally counts outcomes and lets a test wait for one.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) count(e, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[e+" "+outcome]++
}

func (c *tally) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[what]
}

type world struct {
	*hooks.Hooks
	seen tally
	log  testkit.Output
	stop func()
}

func start(t *testing.T, o hooks.Options, list ...hooks.Hook) *world {
	t.Helper()
	w := &world{}
	o.Count, o.Logger = w.seen.count, slog.New(slog.NewTextHandler(&w.log, nil))
	h := hooks.New(list, o)
	w.Hooks = h
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx)
	}()
	w.stop = func() { cancel(); <-ended }
	t.Cleanup(w.stop)
	return w
}

func script(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook.sh")
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"/bin/sh", path}
}

var turnDone = stream.Event{
	Event: stream.TurnDone, At: time.Unix(1_760_000_000, 0).UTC(), Key: channels.MustKey("telegram:1"), Turn: "telegram:1#7",
	Outcome: "answered", Steps: 2, InputTokens: 30, OutputTokens: 4,
}

func TestCommandGetsTheEvent(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OPENAI_API_KEY", "canary")
	w := start(t, hooks.Options{}, hooks.Hook{
		On: []stream.Name{stream.TurnDone}, Command: append(script(t, `cat > "$1"; env > "$1.env"; mv "$1" "$1.done"`), out),
	})
	w.Emit(turnDone)
	w.Emit(stream.Event{Event: stream.SessionSave, Key: turnDone.Key}) // not asked for
	testkit.Eventually(t, "the event", func() bool { return w.seen.get("turn_done ok") == 1 })
	data, err := os.ReadFile(out + ".done")
	if err != nil {
		t.Fatal(err)
	}
	var got stream.Event
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got != turnDone {
		t.Errorf("the program read %+v, want %+v", got, turnDone)
	}
	if env, _ := os.ReadFile(out + ".env"); bytes.Contains(env, []byte("canary")) || !bytes.Contains(env, []byte("PATH=")) {
		t.Errorf("the program's environment is %s", env)
	}
	if n := w.seen.get("session_save ok"); n != 0 {
		t.Errorf("%d events were told that were not asked for", n)
	}
}

// A failure is logged and counted, and the next event is still sent.
func TestFailingHooksHarmNothing(t *testing.T) {
	for name, text := range map[string]string{
		"fails":             "exit 3",
		"crashes":           "kill -SEGV $$",
		"reads nothing":     "exec <&-; exit 1",
		"is not a program":  "",
		"prints very much":  "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 1",
		"reads and refuses": "cat >/dev/null; exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			cmd := []string{"/nonexistent/program"}
			if text != "" {
				cmd = script(t, text)
			}
			w := start(t, hooks.Options{}, hooks.Hook{On: []stream.Name{stream.TurnDone}, Command: cmd, Timeout: 20 * time.Second})
			w.Emit(turnDone)
			w.Emit(turnDone)
			testkit.Eventually(t, "two failures", func() bool { return w.seen.get("turn_done failed") == 2 })
			if log := w.log.String(); !strings.Contains(log, "hook failed") {
				t.Errorf("the log says %q", log)
			}
		})
	}
}

// A program that hangs is killed together with its children.
func TestHangingHookIsKilledWithItsGroup(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	w := start(t, hooks.Options{}, hooks.Hook{
		On: []stream.Name{stream.TurnDone}, Command: append(script(t, `sleep 600 & echo $! > "$1"; wait`), pids), Timeout: time.Second,
	})
	w.Emit(turnDone)
	testkit.Eventually(t, "the timeout", func() bool { return w.seen.get("turn_done timeout") == 1 })
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the death of the grandchild", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") Z ") || syscall.Kill(pid, 0) != nil
	})
}

// A full queue drops and counts events; Emit does not wait, and other hooks are not
// delayed.
func TestFullQueueDrops(t *testing.T) {
	w := start(
		t, hooks.Options{Queue: 2, DrainLimit: time.Millisecond},
		hooks.Hook{On: []stream.Name{stream.TurnDone}, Command: script(t, "sleep 600"), Timeout: time.Minute},
		hooks.Hook{On: []stream.Name{stream.SessionSave}, Command: script(t, "cat >/dev/null")},
	)
	for range 50 {
		w.Emit(turnDone)
	}
	if n := w.seen.get("turn_done dropped"); n < 47 || n > 48 {
		t.Errorf("%d events were dropped, want 47 or 48", n)
	}
	w.Emit(stream.Event{Event: stream.SessionSave, Key: turnDone.Key})
	testkit.Eventually(t, "the other hook", func() bool { return w.seen.get("session_save ok") == 1 })
}

// At the end queued events are sent, and later ones are dropped.
func TestDrain(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	w := start(t, hooks.Options{DrainLimit: time.Minute}, hooks.Hook{
		On: []stream.Name{stream.TurnDone}, Command: append(script(t, `cat >> "$1"`), out), Timeout: time.Minute,
	})
	for range 10 {
		w.Emit(turnDone)
	}
	w.stop()
	if n := w.seen.get("turn_done ok"); n != 10 {
		t.Errorf("%d of 10 queued events were told at the end", n)
	}
	w.Emit(turnDone)
	if n := w.seen.get("turn_done dropped"); n != 1 {
		t.Errorf("%d events were dropped after the end, want 1", n)
	}
}

// A hook that hangs delays the end by no more than the limit.
func TestDrainLimit(t *testing.T) {
	w := start(t, hooks.Options{DrainLimit: 50 * time.Millisecond}, hooks.Hook{
		On: []stream.Name{stream.TurnDone}, Command: script(t, "sleep 600"), Timeout: time.Hour,
	})
	for range 5 {
		w.Emit(turnDone)
	}
	began := time.Now()
	w.stop()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the end took %s", took)
	}
	if n := w.seen.get("turn_done failed") + w.seen.get("turn_done dropped"); n != 5 {
		t.Errorf("%d of 5 events are accounted for", n)
	}
}

// Hooks are replaced while they run: the old hook gets its queued events, the hook that
// stays misses nothing, and the new one gets later events.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	out := func(name string) string { return filepath.Join(dir, name) }
	to := func(name string) hooks.Hook {
		return hooks.Hook{On: []stream.Name{stream.TurnDone}, Command: append(script(t, "#!/bin/sh\ncat >>\"$1\"\n"), out(name))}
	}
	old := to("old")
	stays := to("stays")
	added := to("added")
	w := start(t, hooks.Options{}, old, stays)
	emit := func(turns ...string) {
		for _, turn := range turns {
			w.Emit(stream.Event{Event: stream.TurnDone, Turn: turn})
		}
	}
	emit("1", "2", "3")
	w.Replace([]hooks.Hook{stays, added})
	emit("4", "5")
	w.Replace([]hooks.Hook{stays})
	emit("6")
	w.stop()
	w.Replace(nil)
	for name, want := range map[string]string{"old": "1 2 3", "stays": "1 2 3 4 5 6", "added": "4 5"} {
		data, err := os.ReadFile(out(name))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for dec := json.NewDecoder(bytes.NewReader(data)); ; {
			var e stream.Event
			if err := dec.Decode(&e); err != nil {
				break
			}
			got = append(got, e.Turn)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s was told %v, want %s", name, got, want)
		}
	}
}

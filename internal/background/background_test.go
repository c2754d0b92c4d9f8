package background_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/background"
	"dragoman/sessions"
)

// world is a store of notes and the chats, which outlive a book as they outlive a daemon.
type world struct {
	mu    sync.Mutex
	notes map[string]sessions.Note // by owner and name
	ended []background.Ended
	shown []string
	fails int           // how often CommandEnded fails
	slow  time.Duration // how long a look at all notes takes after it has read them
}

// Notes implements background.Store.
func (w *world) Notes(_ context.Context, f sessions.NoteFilter) (list []sessions.Note, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.notes {
		if (f.Owner == "" || n.Owner == f.Owner) && (f.Name == "" || n.Name == f.Name) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b sessions.Note) int { return strings.Compare(string(a.Data), string(b.Data)) })
	if f.Owner == "" && w.slow > 0 {
		w.mu.Unlock()
		time.Sleep(w.slow)
		w.mu.Lock()
	}
	return list, nil
}

// ChangeNotes implements background.Store.
func (w *world) ChangeNotes(ctx context.Context, _, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	have, err := w.Notes(ctx, sessions.NoteFilter{Owner: owner})
	if err != nil {
		return err
	}
	put, remove, err := change(have)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range put {
		n.Owner = owner
		w.notes[owner+"\n"+n.Name] = n
	}
	for _, name := range remove {
		delete(w.notes, owner+"\n"+name)
	}
	return nil
}

// CommandEnded implements background.Chats.
func (w *world) CommandEnded(_ context.Context, e background.Ended) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails > 0 {
		w.fails--
		return errors.New("the disk is full")
	}
	w.ended = append(w.ended, e)
	return nil
}

// ShowCommand implements background.Chats.
func (w *world) ShowCommand(_ context.Context, _ channels.Key, _, shown, text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, shown+": "+text)
	if text == "" {
		return ""
	}
	return "m1"
}

// showed is what was shown.
func (w *world) showed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.shown)
}

// left are the commands that are noted as running, and what was told of those that ended.
func (w *world) left(t *testing.T, b *background.Book) (running, told []string) {
	t.Helper()
	for _, k := range []channels.Key{chat, other} {
		list, err := b.List(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			running = append(running, r.Name)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.ended {
		told = append(told, e.Name+" "+e.Text)
	}
	return running, told
}

var (
	chat  = channels.MustKey("telegram:7")
	other = channels.MustKey("telegram:8")
)

// started is a book that runs; stop ends it as a daemon ends.
func (w *world) started(t *testing.T, node string) (b *background.Book, stop func()) {
	b = background.New(w, w, background.Options{Node: node})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { b.Run(ctx) })
	synctest.Wait()
	return b, func() {
		cancel()
		wg.Wait()
	}
}

// sleeps is a command that prints, sleeps and prints again.
func sleeps(k channels.Key, d time.Duration) background.Command {
	return background.Command{
		Key: k, Person: channels.Person{IDs: []string{"7"}}, Line: "make  all", Most: 30 * time.Minute,
		Origins: []sessions.Origin{sessions.OriginWeb},
		Run: func(ctx context.Context, printed func([]byte)) (background.Result, error) {
			printed([]byte("first\nhalf\rdone 50%"))
			select {
			case <-time.After(d):
				return background.Result{Output: "all of it", Code: 3}, nil
			case <-ctx.Done():
				return background.Result{}, context.Cause(ctx)
			}
		},
	}
}

// inWorld runs a test in a bubble with an own time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) { test(t, &world{notes: map[string]sessions.Note{}}) })
}

func TestACommandThatIsQuick(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b, stop := w.started(t, "")
		defer stop()
		name, r, err := b.Start(t.Context(), sleeps(chat, time.Second), time.Minute)
		if name != "" || r.Code != 3 || r.Output != "all of it" || err != nil || len(w.notes) > 0 {
			t.Errorf("it is %q, %+v, %v, with %d notes", name, r, err, len(w.notes))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the turn is stopped"))
		defer cancel()
		if _, _, err := b.Start(ctx, sleeps(chat, time.Hour), time.Minute); err == nil || err.Error() != "the turn is stopped" {
			t.Errorf("a stopped one: %v", err)
		}
	})
}

// What ends while interrupted commands are looked for was not interrupted.
func TestACommandThatEndsDuringALook(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b, stop := w.started(t, "")
		defer stop()
		if _, _, err := b.Start(t.Context(), sleeps(chat, 61*time.Second), 0); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.slow = 5 * time.Second // the look begins after 60
		w.mu.Unlock()
		time.Sleep(2 * time.Minute)
		if _, told := w.left(t, b); len(told) != 1 || strings.Contains(told[0], "interrupted") {
			t.Errorf("%q is told", told)
		}
	})
}

// What outlives the caller's patience, and what begins in the background, is a message at its
// end, and until then shown, listed and numbered.
func TestACommandThatTakesLong(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b, stop := w.started(t, "")
		defer stop()
		for i, wait := range []time.Duration{time.Minute, 0} {
			name, _, err := b.Start(t.Context(), sleeps(chat, 2*time.Minute), wait)
			if want := fmt.Sprintf("c%d", i+1); name != want || err != nil {
				t.Fatalf("it is called %q, %v, want %q", name, err, want)
			}
		}
		time.Sleep(40 * time.Second)
		list, err := b.List(t.Context(), chat)
		if len(list) != 2 || list[0].Last != "done 50%" || err != nil {
			t.Errorf("the list is %+v, %v", list, err)
		}
		if want := ": c1 runs for 1 min 30 s: make all\ndone 50%"; !slices.Contains(w.showed(), want) {
			t.Errorf("it is shown as %q, want %q", w.showed(), want)
		}
		time.Sleep(2 * time.Minute)
		running, told := w.left(t, b)
		if len(running) > 0 || len(told) != 2 || !strings.Contains(told[0], "exit code 3, after 2 min 0 s") || !strings.HasSuffix(told[0], "$ make all\nall of it") {
			t.Errorf("then %q run and %q is told", running, told)
		}
		if got := w.ended[0].Origins; !slices.Equal(got, []sessions.Origin{sessions.OriginFile, sessions.OriginWeb}) || w.ended[0].ID == w.ended[1].ID {
			t.Errorf("its words are %q, and its id %q", got, w.ended[0].ID)
		}
		if shown := w.showed(); shown[len(shown)-1] != "m1: " {
			t.Errorf("what showed it is not taken away: %q", shown)
		}
	})
}

// After the end of a daemon, with or without an order to stop, each command that ran is told
// of once.
func TestInterrupted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first, stopFirst := w.started(t, "a")
		for _, k := range []channels.Key{chat, other} {
			if _, _, err := first.Start(t.Context(), sleeps(k, time.Hour), 0); err != nil {
				t.Fatal(err)
			}
		}
		stopFirst()
		if running, told := w.left(t, first); len(running) != 2 || len(told) > 0 {
			t.Fatalf("after the end %q run and %q is told", running, told)
		}
		elsewhere, stopElsewhere := w.started(t, "b")
		if _, told := w.left(t, elsewhere); len(told) > 0 {
			t.Errorf("another node tells %q, which may still run", told)
		}
		stopElsewhere()
		w.fails = 2
		second, stop := w.started(t, "a")
		defer stop()
		time.Sleep(10 * time.Second)
		running, told := w.left(t, second)
		if len(running) > 0 || len(told) != 2 || !strings.Contains(told[0], "interrupted: Dragoman was restarted") ||
			!strings.HasSuffix(told[0], "\n[what it printed is lost]") {
			t.Errorf("after a start %q run and %q is told", running, told)
		}
	})
}

// What a node ran that never comes back, another one tells when its time is over.
func TestInterruptedForGood(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gone, stopGone := w.started(t, "gone")
		if _, _, err := gone.Start(t.Context(), sleeps(chat, time.Hour), 0); err != nil {
			t.Fatal(err)
		}
		stopGone()
		b, stop := w.started(t, "here")
		defer stop()
		time.Sleep(33 * time.Minute)
		if _, told := w.left(t, b); len(told) != 1 {
			t.Errorf("it tells %q", told)
		}
	})
}

func TestStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b, stop := w.started(t, "a")
		defer stop()
		elsewhere, stopElsewhere := w.started(t, "b")
		defer stopElsewhere()
		for range background.MostHere {
			if _, _, err := b.Start(t.Context(), sleeps(chat, time.Hour), 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := b.Start(t.Context(), sleeps(chat, time.Hour), 0); err == nil || !strings.Contains(err.Error(), "2 commands run") {
			t.Errorf("one more: %v", err)
		}
		if names, err := b.Stop(t.Context(), other, ""); len(names) > 0 || err != nil {
			t.Errorf("in another chat it stops %q, %v", names, err)
		}
		if names, err := b.Stop(t.Context(), chat, "c1"); !slices.Equal(names, []string{"c1"}) || err != nil {
			t.Errorf("it stops %q, %v", names, err)
		}
		if names, err := elsewhere.Stop(t.Context(), chat, ""); !slices.Equal(names, []string{"c2"}) || err != nil {
			t.Errorf("another node stops %q, %v", names, err)
		}
		time.Sleep(10 * time.Second)
		if running, told := w.left(t, b); len(running)+len(told) > 0 {
			t.Errorf("then %q run and %q is told", running, told)
		}
		if name, _, err := b.Start(t.Context(), sleeps(chat, time.Hour), 0); name != "c3" || err != nil {
			t.Errorf("the next is %q, %v", name, err)
		}
		w.mu.Lock()
		clear(w.notes) // the chat is erased
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		if _, told := w.left(t, b); len(told) > 0 {
			t.Errorf("of an erased chat it tells %q", told)
		}
	})
}

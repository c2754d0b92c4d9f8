package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/internal/gateway"
)

const organizing = "Organizing the conversation…"

// notes are the notes about progress that chat was shown.
func (n *network) notes(chat string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, p := range n.previews {
		if p.Key.Chat() == chat && p.Note != "" {
			all = append(all, p.Note)
		}
	}
	return all
}

// People see that the conversation is being organized only while they wait for
// it. A summary in the background shows nothing, and messages meanwhile are
// answered as usual.
func TestOrganizingIsShownToThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ag := compacting(t, window.Presets["picoclaw"], 32768)
		ag.hold = time.Minute
		for i := range 11 { // 22 messages: one summary in the background
			w.say("1", fmt.Sprint("message ", i))
			synctest.Wait()
		}
		time.Sleep(30 * time.Second)
		if ag.count() != 1 || w.history("1").Summary != nil {
			t.Fatalf("%d summaries under way, want 1", ag.count())
		}
		w.say("1", "and meanwhile?")
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 12 || got[11] != "noted" {
			t.Errorf("beside a summary in the background, %d answers, want 12", len(got))
		}
		time.Sleep(time.Hour)
		if h := w.history("1"); h.Summary == nil {
			t.Error("there is no summary")
		}
		if got := w.net.notes("1"); len(got) != 0 {
			t.Errorf("nobody waited, and was shown %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := window.Presets["goose-conservative"]
		c.Keep.N = 2
		w, ag := compacting(t, c, 2048)
		ag.hold = time.Minute
		for i := range 6 {
			w.say("1", fmt.Sprint("message ", i, strings.Repeat(" word", 120)))
			synctest.Wait()
		}
		if ag.count() != 0 {
			t.Fatalf("%d summaries before one is needed", ag.count())
		}
		before := len(w.net.texts("1"))
		w.say("1", "a long one"+strings.Repeat(" word", 1200)) // does not fit any more
		time.Sleep(30 * time.Second)
		if got := w.net.notes("1"); !slices.Contains(got, organizing) {
			t.Errorf("while they wait they are shown %q, want %q", got, organizing)
		}
		if got := len(w.net.texts("1")); got != before {
			t.Errorf("they got an answer before the summary was made")
		}
		time.Sleep(time.Hour)
		got := w.net.texts("1")
		if len(got) != before+1 || got[before] != "noted" || ag.count() != 1 {
			t.Errorf("%d answers and %d summaries after it, want one more and one", len(got)-before, ag.count())
		}
		for _, text := range got {
			if strings.Contains(text, "Organizing") {
				t.Errorf("the note is part of an answer: %q", text)
			}
		}
		if all := strings.Join(w.transcript("1"), "\n"); strings.Contains(all, "Organizing") {
			t.Error("the note is in the transcript")
		}
	})
}

// The note goes when it is no longer true: at once if no word is there to replace it, also
// when a command ends the turn.
func TestOrganizingIsTakenBack(t *testing.T) {
	note := agent.Progress{Note: organizing}
	for name, test := range map[string]struct {
		shows     []agent.Progress // one each half a minute
		command   string           // after a minute and a quarter
		retracted int
		want      []string // texts, with the message that they edit
	}{
		"the model thinks":         {[]agent.Progress{note, {}, {}}, "", 1, []string{"done"}},
		"words come":               {[]agent.Progress{note, {Text: "do"}, {}}, "", 0, []string{"done>p1"}},
		"words were there":         {[]agent.Progress{{Text: "do", Note: organizing}, {Text: "do"}}, "", 0, []string{"done>p1"}},
		"twice":                    {[]agent.Progress{note, {}, note, {}}, "", 2, []string{"done"}},
		"no note":                  {[]agent.Progress{{}, {}}, "", 0, []string{"done"}},
		"a stop under the note":    {[]agent.Progress{{}, note, note, note}, "/stop", 0, []string{"Stopped.>p1"}},
		"a stop after it":          {[]agent.Progress{note, {}, {}, {}}, "/stop", 1, []string{"Stopped."}},
		"a new conversation under": {[]agent.Progress{{}, note, note, note}, "/new", 1, []string{"A new conversation begins. The old one is kept. I have not answered “hello”."}},
		"a new one after it":       {[]agent.Progress{note, {}, {}, {}}, "/new", 1, []string{"A new conversation begins. The old one is kept. I have not answered “hello”."}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
					for _, p := range test.shows {
						turn.Progress(p)
						if !sleep(ctx, 30*time.Second) {
							return "", ctx.Err()
						}
					}
					return "done", nil
				}
				w.say("1", "hello")
				time.Sleep(75 * time.Second)
				if test.command != "" {
					w.say("1", test.command)
				}
				time.Sleep(time.Hour)
				w.net.mu.Lock()
				defer w.net.mu.Unlock()
				var got []string
				for _, m := range w.net.sent {
					text := m.Text
					if m.Edit != "" {
						text += ">" + m.Edit
					}
					got = append(got, text)
				}
				if len(w.net.retracted) != test.retracted || !slices.Equal(got, test.want) {
					t.Errorf("%d previews were taken back, want %d; sent %q, want %q", len(w.net.retracted), test.retracted, got, test.want)
				}
			})
		})
	}
}

// Options.Summarizers bounds the summaries in the background over all
// conversations; the others follow until all are made.
func TestSummariesAreBounded(t *testing.T) {
	for _, most := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			ag, err := agent.New(plainModel{}, nil, agent.Options{Compaction: window.Presets["picoclaw"]})
			if err != nil {
				t.Fatal(err)
			}
			n := &noting{Agent: ag, hold: time.Minute}
			w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) { w.real, o.Summarizers = n, most })
			const chats = 6
			for i := range 11 {
				for chat := range chats {
					w.say(fmt.Sprint(chat+1), fmt.Sprint("message ", i))
				}
				synctest.Wait()
			}
			for done := 0; done < chats; done += most {
				if got, want := n.count(), done+most; got != want {
					t.Errorf("at most %d at once: %d summaries begun after %d were made, want %d", most, got, done, want)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			for chat := range chats {
				if w.history(fmt.Sprint(chat+1)).Summary == nil {
					t.Errorf("chat %d has no summary", chat+1)
				}
			}
		})
	}
}

package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// stern is a network that shows text of its own form, like IRC.
type stern struct{ *network }

func (stern) Split(_ channels.Key, text string) []channels.Piece {
	return []channels.Piece{{Text: strings.ReplaceAll(text, "**", "\x02"), Form: channels.FormNative}}
}

func (stern) Plain(native string) string { return strings.ReplaceAll(native, "\x02", "") }

// jobWorld has jobs that answer with their prompt, and a model that answers
// people with "ok".
func jobWorld(t *testing.T) *world {
	w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
		b.Channel = stern{w.net}
		o.Heartbeats = jobs{"watch": channels.MustKey("net:1"), "night": channels.MustKey("net:1")}
	})
	w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
		if turn.Key.Channel() == gateway.HeartbeatChannel {
			return turn.Input[0].Content, nil
		}
		return "ok", nil
	}
	return w
}

// fire runs a job, which says text.
func (w *world) fire(job, text string) {
	w.t.Helper()
	due := time.Now().Truncate(time.Second)
	was, _, err := w.mem.NextDue(w.t.Context(), job)
	if err := errors.Join(err, w.mem.Plan(w.t.Context(), job, was, due)); err != nil {
		w.t.Fatal(err)
	}
	err = w.mem.Fire(w.t.Context(), job, due, due, due.Add(24*time.Hour), channels.Inbound{
		Key: channels.MustKey("heartbeat:" + job), ID: fmt.Sprintf("hb:%s:%d", job, due.Unix()), Text: text,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
}

// ask sends text and returns the model's input.
func (w *world) ask(person, text string) string {
	w.t.Helper()
	w.say(person, text)
	time.Sleep(time.Minute)
	synctest.Wait()
	return inputs(w.agent.turns[len(w.agent.turns)-1])
}

// The next turn of a chat sees the texts that jobs wrote there, each once;
// other chats do not. Until then the jobs have written nothing into the
// conversation.
func TestNextTurnKnowsWhatJobsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := jobWorld(t)
		want := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("the model is asked %q, want %q", got, want)
			}
		}
		const watch = `[The scheduled job "watch" wrote this here:]` + "\n"
		want(w.ask("1", "hello"), "hello")
		w.fire("watch", "the disk is full")
		if got := w.transcript("1"); len(got) != 2 {
			t.Errorf("a job writes into the transcript: %q", got)
		}
		w.fire("night", "good **night**")
		want(w.ask("2", "hello"), "hello")
		w.say("1", "/status")
		time.Sleep(time.Minute)
		want(w.ask("1", "why?"), watch+"the disk is full | [The scheduled job \"night\" wrote this here:]\ngood night | why?")
		want(w.ask("1", "thanks"), "thanks")
		if got := w.transcript("1"); !slices.Contains(got, "user: "+watch+"the disk is full") {
			t.Errorf("the transcript is %q", got)
		}
		w.fire("watch", strings.Repeat("it burns ", 400)) // several messages
		if got := w.ask("1", "what?"); strings.Count(got, watch) != 1 || strings.Count(got, "it burns") != 400 {
			t.Errorf("the model is asked %q", got)
		}
		w.fire("watch", "silence follows")
		w.say("1", "/New") // in any case
		time.Sleep(time.Minute)
		want(w.ask("1", "hello again"), "hello again")
	})
}

// A text that a job writes while the model answers is seen by the turn after
// that. An old text is seen by none.
func TestJobsSaidBesideATurnAndLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := jobWorld(t)
		quick := w.agent.run
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Key.Channel() != gateway.HeartbeatChannel {
				return slowEcho(time.Hour)(ctx, turn)
			}
			return quick(ctx, turn)
		}
		w.say("1", "think")
		synctest.Wait()
		w.fire("watch", "the disk is full")
		time.Sleep(2 * time.Hour)
		if got := w.ask("1", "why?"); !strings.Contains(got, "the disk is full | why?") {
			t.Errorf("the model is asked %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := jobWorld(t)
		w.fire("watch", "the disk is full")
		time.Sleep(48 * time.Hour)
		if got := w.ask("1", "hello"); got != "hello" {
			t.Errorf("the model is asked %q", got)
		}
	})
}

// failingJobs knows from the store whether a job failed before.
type failingJobs struct {
	jobs
	w *world
}

func (j failingJobs) Failing(ctx context.Context, job string) (bool, error) {
	list, err := j.w.mem.Occurrences(ctx, job, 10)
	for len(list) > 0 && list[0].Outcome == "fired" {
		list = list[1:]
	}
	return len(list) > 0 && list[0].Outcome == "failed", err
}

// A job that fails tells its target once, until it works again, and its record names the
// cause. An answer that was lost is a failure, and an alarm is never silence.
func TestWhatAJobSays(t *testing.T) {
	refused := &agent.ModelError{Kind: agent.ErrorRefused, Cause: agent.CauseKey, Err: errors.New("401")}
	tests := map[string]struct {
		text   string
		finish string
		err    error
		want   string // what the target reads
		record string
	}{
		"silent":            {text: "HEARTBEAT_OK", record: "silent "},
		"empty":             {record: "silent "},
		"alarm":             {text: "HEARTBEAT_OK Backup failed.", want: "Backup failed.", record: "ran "},
		"refused":           {err: refused, want: "The job watch could not run: the model's server does not accept my key (error ID). I say so once, until it works again.", record: "failed the model's server does not accept my key (error ID)"},
		"our own fault":     {err: errors.New("bug"), want: "The job watch could not run: something went wrong on my side and I could not answer this (error ID). I say so once, until it works again.", record: "failed something went wrong on my side and I could not answer this (error ID)"},
		"filtered":          {finish: "content_filter", want: "The job watch could not run: The model's provider filtered the answer. I say so once, until it works again.", record: "failed The model's provider filtered the answer"},
		"cut before a word": {finish: "length", want: "The job watch could not run: The answer reached its length limit before its first word. I say so once, until it works again.", record: "failed The answer reached its length limit before its first word"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					o.Heartbeats = failingJobs{jobs{"watch": channels.MustKey("net:1")}, w}
				})
				w.agent.ended.Finish = test.finish
				w.agent.run = func(context.Context, agent.Turn) (string, error) { return test.text, test.err }
				w.fire("watch", "look")
				want := []string{}
				if test.want != "" {
					want = append(want, test.want)
				}
				if got := errorIDs.ReplaceAllString(strings.Join(w.net.texts("1"), "|"), "error ID"); got != strings.Join(want, "|") {
					t.Errorf("the target reads %q, want %q", got, want)
				}
				list, err := w.mem.Occurrences(t.Context(), "watch", 1)
				if err != nil || len(list) != 1 || errorIDs.ReplaceAllString(list[0].Outcome+" "+list[0].Why, "error ID") != test.record {
					t.Errorf("recorded %+v, %v, want %q", list, err, test.record)
				}
				before := len(w.net.texts("1"))
				w.fire("watch", "look again")
				if again := len(w.net.texts("1")) - before; strings.HasPrefix(test.record, "failed") && again != 0 {
					t.Errorf("a second failure is told too: %q", w.net.texts("1"))
				}
			})
		})
	}
}

// The target hears once that a job fails, and once that it works again, also where the job
// has nothing to say. A text that did not arrive is no failure that the target knows of.
func TestAJobWorksAgain(t *testing.T) {
	const failed, works = "The job watch could not run: something went wrong on my side and I could not answer this (error ID). I say so once, until it works again.", "The job watch works again."
	for name, test := range map[string]struct {
		runs []string // what the model says, or "!" if it fails
		want []string
	}{
		"silent":            {[]string{"!", "!", "HEARTBEAT_OK", "HEARTBEAT_OK"}, []string{failed, works}},
		"with news":         {[]string{"!", "news", "more"}, []string{failed, works + "\n\nnews", "more"}},
		"again and again":   {[]string{"!", "HEARTBEAT_OK", "!", "HEARTBEAT_OK"}, []string{failed, works, failed, works}},
		"it never failed":   {[]string{"HEARTBEAT_OK", "news"}, []string{"news"}},
		"it failed at last": {[]string{"news", "!", "!"}, []string{"news", failed}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					o.Heartbeats = failingJobs{jobs{"watch": channels.MustKey("net:1")}, w}
				})
				for _, says := range test.runs {
					w.agent.run = func(context.Context, agent.Turn) (string, error) {
						if says == "!" {
							return "", errors.New("bug")
						}
						return says, nil
					}
					w.fire("watch", "look")
					time.Sleep(time.Minute)
				}
				got := w.net.texts("1")
				for i := range got {
					got[i] = errorIDs.ReplaceAllString(got[i], "error ID")
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("the target reads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

var errorIDs = regexp.MustCompile(`error [0-9a-f]{6}`)

// What a job tells has the taint of the job's turn when a conversation shows it, after a
// restart too; what it tells of itself has none.
func TestTaintOfWhatJobsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := jobWorld(t)
		web := []sessions.Origin{sessions.OriginWeb}
		w.agent.ended.Taint = web
		w.fire("watch", "news from a page")
		w.agent.ended.Taint = nil
		w.fire("night", "good night")
		w.ask("1", "why?")
		asked := w.agent.asked()
		got := map[string][]sessions.Origin{}
		for _, m := range asked[len(asked)-1].Input {
			_, text, _ := strings.Cut(m.Content, "\n")
			got[text] = m.Origins
		}
		want := map[string][]sessions.Origin{"news from a page": web, "good night": nil, "": nil}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("origins of the input (-want +got):\n%s", diff)
		}
		h, err := w.mem.History(t.Context(), channels.MustKey("net:1"), sessions.HistoryLimit{})
		if err != nil || len(h.Messages) == 0 || !slices.Equal(h.Messages[0].Origins, web) {
			t.Errorf("the transcript begins with %+v, %v; want the news with its origin", h.Messages, err)
		}
	})
}

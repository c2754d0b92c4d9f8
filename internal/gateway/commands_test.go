package gateway_test

import (
	"context"
	"fmt"
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

// TestStopBeforeTheTurn: if no turn runs, /stop closes the waiting message and
// says so.
func TestStopBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.MaxTurns = 1 })
		w.agent.run = slowEcho(time.Minute)
		w.say("2", "slow")
		synctest.Wait()
		w.say("1", "never mind")
		synctest.Wait()
		w.say("1", "/stop")
		time.Sleep(time.Hour)
		w.expect("1", "Stopped. Your message was still waiting. I will not answer it now; ask again whenever you like.")
	})
}

func TestCommandsDoNotWaitForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = slowEcho(30 * time.Second)
		w.say("1", "slow")
		time.Sleep(5 * time.Second)
		w.say("1", "/status")
		w.say("1", "/HELP me")
		synctest.Wait()
		got := w.net.texts("1")
		if len(got) != 2 || !strings.Contains(got[0], "I have been writing an answer for 5s") || !strings.Contains(got[1], "/stop") {
			t.Fatalf("sent %q, want status and help at once", got)
		}
		time.Sleep(time.Minute)
		w.expect("1", got[0], got[1], "echo slow")
	})
}

// If there is only one model, /status names it, also in a conversation that
// names another one.
func TestStatusNamesTheModelThatAnswers(t *testing.T) {
	for one, want := range map[bool]string{true: "model demo.", false: "model foo."} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Model, o.OneModel = "demo", one })
			err := w.mem.Configure(t.Context(), channels.MustKey("net:1"), func(s *sessions.Settings) error { s.Model = "foo"; return nil })
			if err != nil {
				t.Fatal(err)
			}
			w.say("1", "/status")
			synctest.Wait()
			if got := w.lastText("1"); !strings.Contains(got, want) {
				t.Errorf("with one model alone (%t): %q, want %q", one, got, want)
			}
		})
	}
}

func TestStopKeepsWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		count := streaming("one", "two", "three", "four", "five", "six")
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if inputs(turn) == "count" {
				return count(ctx, turn)
			}
			return echo(ctx, turn)
		}
		w.say("1", "count")
		time.Sleep(3500 * time.Millisecond)
		w.say("1", "and then?")
		w.say("1", "/stop")
		time.Sleep(time.Minute)
		w.expect("1", "one two three \n\n*(stopped)*", "echo and then?")
		if got := w.net.sent[0].Edit; got != "p1" {
			t.Errorf("the stopped answer edits %q, want the preview", got)
		}
		want := []string{"user: count", "assistant: one two three \n\n[stopped by the person]", "user: and then?", "assistant: echo and then?"}
		if diff := cmp.Diff(want, w.transcript("1")); diff != "" {
			t.Error(diff)
		}
		w.say("1", "/stop")
		w.expect("1", "one two three \n\n*(stopped)*", "echo and then?", "Nothing is running now.")
	})
}

func TestNewBeginsAGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		key := channels.MustKey("net:1")
		w.say("1", "a")
		synctest.Wait()
		old, err := w.mem.History(t.Context(), key, sessions.HistoryLimit{})
		if err != nil {
			t.Fatal(err)
		}
		w.say("1", "/new")
		synctest.Wait()
		w.say("1", "b")
		synctest.Wait()
		h, err := w.mem.History(t.Context(), key, sessions.HistoryLimit{})
		if err != nil {
			t.Fatal(err)
		}
		if h.Generation == old.Generation || len(h.Messages) != 2 {
			t.Errorf("History = %+v, want a new generation with the last message and its answer", h)
		}
		if got := len(w.transcript("1")); got != 4 {
			t.Errorf("transcript has %d messages, want the old ones kept (4)", got)
		}
	})
}

func TestCommandIsAnsweredOnceWhenTheNetworkRepeatsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		m := w.say("1", "/start")
		if err := w.in.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := len(w.net.texts("1")); got != 1 {
			t.Errorf("%d answers, want 1", got)
		}
	})
}

func TestWordsThatLookLikeCommandsGoToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "/etc/passwd is what?")
		w.expect("1", "echo /etc/passwd is what?")
	})
}

func TestNewDuringAnAnswerSaysSoBelowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = streaming("one", "two", "three", "four")
		w.say("1", "count")
		time.Sleep(2500 * time.Millisecond)
		w.say("1", "/new")
		time.Sleep(time.Minute)
		w.expect("1", "one two \n\n*(stopped)*", "A new conversation begins. The old one is kept.")
		if got := w.net.sent[1].Edit; got != "" {
			t.Errorf("the news edits %q, want a message of its own", got)
		}
	})
}

func TestTitle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		say := func(text, want string) {
			t.Helper()
			before := len(w.net.texts("1"))
			w.say("1", text)
			synctest.Wait()
			if got := w.net.texts("1"); len(got) != before+1 || !strings.Contains(got[before], want) {
				t.Errorf("%s is answered %q, want %q", clip(text), got[before:], want)
			}
		}
		say("/title", "has no title")
		say("/title Too early", "This conversation is still empty")
		say("hello", "echo hello")
		say("/title \n Holiday \n plans  ", "is now called “Holiday plans”")
		say("/TITLE", "is called “Holiday plans”")
		say("/title "+strings.Repeat("long ", 2<<20), "too long for a title")
		say("/title\nÜbung 2", "is now called “Übung 2”")
		say("/titles are for books", "There is no /titles. Did you mean /title?")
		say("titles are for books", "echo titles are for books")
		c, err := w.mem.Conversation(t.Context(), channels.MustKey("net:1"))
		if err != nil || c.Title != "Übung 2" || c.Messages != 4 {
			t.Errorf("Conversation = %+v, %v, want its title, and no command among its messages", c, err)
		}
	})
}

// A command that the network repeats keeps its place: the last title counts.
func TestTitleRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "hello")
		synctest.Wait()
		one, two := w.say("1", "/title one"), w.say("1", "/title two")
		for _, m := range []channels.Inbound{one, two} {
			if err := w.in.Accept(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		c, err := w.mem.Conversation(t.Context(), channels.MustKey("net:1"))
		if got := w.net.texts("1"); err != nil || c.Title != "two" || len(got) != 3 {
			t.Errorf("title %q, answers %q, %v", c.Title, got, err)
		}
	})
}

// slowly is a store that takes time over everything that ends a turn.
type slowly struct {
	gateway.Work
	gateway.Inbox
	commit, stop time.Duration
}

func (s slowly) CommitTurn(ctx context.Context, c sessions.Claim, t sessions.Turn) error {
	time.Sleep(s.commit)
	return s.Work.CommitTurn(ctx, c, t)
}

func (s slowly) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	if e.Control == sessions.ControlStop {
		time.Sleep(s.stop)
	}
	return s.Inbox.Accept(ctx, e)
}

// TestStopBesideTheCommit: an answer that is being stored is not stopped as
// well, and one that is being stopped is not stored. The person sees it once.
func TestStopBesideTheCommit(t *testing.T) {
	for name, tt := range map[string]struct {
		after, commit, stop time.Duration
		want                []string
	}{
		"the commit is first": {3500 * time.Millisecond, time.Second, 0, []string{"one two three end", "Nothing is running now."}},
		"the stop is first":   {2500 * time.Millisecond, 0, time.Second, []string{"one two \n\n*(stopped)*"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
					s := slowly{w.mem, w.mem, tt.commit, tt.stop}
					w.store.Work, w.store.Inbox = s, s
				})
				w.agent.run = streaming("one", "two", "three")
				w.say("1", "count")
				time.Sleep(tt.after)
				w.say("1", "/stop")
				time.Sleep(time.Minute)
				w.expect("1", tt.want...)
			})
		})
	}
}

// A command that closes waiting messages names them, whoever wrote them.
func TestClosedMessagesAreNamed(t *testing.T) {
	const began = "A new conversation begins. The old one is kept."
	tests := map[string]struct {
		before  func(w *world)
		command string
		want    string // the last message
	}{
		"new, nothing waits": {func(*world) {}, "/new", began},
		"new, one runs": {func(w *world) {
			w.say("1", "A")
		}, "/new", began + " I have not answered “A”."},
		"new, one is being answered and one waits": {func(w *world) {
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: "It is"})
				return slowEcho(time.Hour)(ctx, turn)
			}
			w.say("1", "A")
			synctest.Wait() // its turn has begun
			w.say("1", "B")
		}, "/new", began + " I have not answered “B”."},
		"new, one runs and one waits": {func(w *world) {
			w.say("1", "A")
			w.say("1", "B")
		}, "/new", began + " I have not answered “A”, “B”."},
		"new, others wait in a group": {func(w *world) {
			w.groupSay("Ann", "A")
			w.groupSay("Bob", strings.Repeat("long ", 40))
		}, "/new", began + " I have not answered “A” (Ann), “" + strings.TrimSpace(strings.Repeat("long ", 16)) + "…” (Bob)."},
		"new, many wait": {func(w *world) {
			for i := range 8 {
				w.say("1", fmt.Sprint(i))
			}
		}, "/new", began + " I have not answered “0”, “1”, “2”, “3”, “4”, and 3 more."},
		"new, a file waits": {func(w *world) {
			m := w.message("1", "")
			m.Attachments = []channels.Attachment{{Kind: channels.AttachmentImage, Missing: "gone"}}
			w.accept(m)
		}, "/new", began + " I have not answered “a file”."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = slowEcho(time.Hour)
				test.before(w)
				time.Sleep(time.Second)
				if strings.Contains(name, "group") {
					w.groupSay("Bob", test.command)
				} else {
					w.say("1", test.command)
				}
				synctest.Wait()
				got := w.net.texts("1")
				if len(got) == 0 || got[len(got)-1] != test.want {
					t.Errorf("the chat reads %q, want %q last", got, test.want)
				}
			})
		})
	}
}

// A /stop that closes messages names them, unless it is the one of whoever stops, which
// they know.
func TestStopNamesWhatItCloses(t *testing.T) {
	for name, test := range map[string]struct {
		waiting [][2]string // by whom, and what
		named   string
	}{
		"their own":            {[][2]string{{"Bob", "A"}}, ""},
		"another's":            {[][2]string{{"Ann", "A"}}, " I have not answered “A” (Ann)."},
		"another's and theirs": {[][2]string{{"Ann", "A"}, {"Bob", "B"}}, " I have not answered “A” (Ann), “B” (Bob)."},
		"two of their own":     {[][2]string{{"Bob", "A"}, {"Bob", "B"}}, " I have not answered “A” (Bob), “B” (Bob)."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = failsUntil(time.Now().Add(time.Hour), limited(5*time.Minute))
				for _, m := range test.waiting {
					w.groupSay(m[0], m[1])
					time.Sleep(time.Second)
				}
				w.groupSay("Bob", "/stop")
				synctest.Wait()
				const stopped = "Stopped. Your message was waiting, because the model is not answering yet. I will not answer it now; ask again whenever you like."
				if got := w.net.texts("1"); len(got) != 1 || got[0] != stopped+test.named {
					t.Errorf("the chat reads %q, want %q", got, stopped+test.named)
				}
			})
		})
	}
}

// groupSay is a message in a chat of several people.
func (w *world) groupSay(name, text string) {
	m := w.message("1", text)
	m.Private = false
	m.Addressed = true
	m.Sender.Name = name
	w.accept(m)
}

// The word that an answer was stopped is outside of the code or the style in which it broke off.
func TestStoppedInsideMarkup(t *testing.T) {
	for answer, want := range map[string]string{
		"```go x":             "```go x \n```\n\n*(stopped)*",
		"a\n~~~~\nx\n~~~ y":   "a\n~~~~\nx\n~~~ y \n~~~~\n\n*(stopped)*",
		"```\nx\n```\nafter ": "```\nx\n```\nafter  \n\n*(stopped)*",
		"no code":             "no code \n\n*(stopped)*",
		"- a\n  ```\n  x":     "- a\n  ```\n  x \n  ```\n\n*(stopped)*",
		"1. ```go\n   x":      "1. ```go\n   x \n   ```\n\n*(stopped)*",
		"> ~~~\n> x":          "> ~~~\n> x \n> ~~~\n\n*(stopped)*",
		"a **bold":            "a **bold**\n\n*(stopped)*",
		"a `co **":            "a `co **`\n\n*(stopped)*",
		"``a ` b":             "``a ` b``\n\n*(stopped)*",
		"**a** *it ~~gone":    "**a** *it ~~gone~~*\n\n*(stopped)*",
		"**a\n\n2 * 3 _b":     "**a\n\n2 * 3 _b_\n\n*(stopped)*",
		"***both":             "***both***\n\n*(stopped)*",
		"2*3 a_b \\*c `d` **": "2*3 a_b \\*c `d` ** \n\n*(stopped)*",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: answer + " "})
				<-ctx.Done()
				return "", ctx.Err()
			}
			w.say("1", "write")
			time.Sleep(time.Second)
			w.say("1", "/stop")
			w.expect("1", want)
		})
	}
}

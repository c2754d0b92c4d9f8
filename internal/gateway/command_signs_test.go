package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// exclaims is a network whose commands begin with "!".
type exclaims struct{ *network }

func (exclaims) CommandSign() string { return "!" }

// byLines is a network that sends long answers slowly, a line at a time.
type byLines struct{ exclaims }

func (byLines) Interleaves(channels.Key) bool { return false }
func (byLines) Asker(string) string           { return "" }
func (byLines) Continues(string, string) bool { return false }

// completing is a network that offers the commands while people type.
type completing struct {
	*network
	offered *channels.Menu
}

func (c completing) SetCommands(m channels.Menu) { *c.offered = m }

// /help lists every command that a network offers.
func TestHelpListsTheOfferedCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offered channels.Menu
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = completing{w.net, &offered} })
		w.say("1", "/help")
		synctest.Wait()
		if len(offered.Private) < 5 {
			t.Errorf("offered %v", offered)
		}
		for _, c := range offered.Private {
			if got := w.lastText("1"); !strings.Contains(got, "- /"+c.Name+": "+c.Help) {
				t.Errorf("/help does not list /%s:\n%s", c.Name, got)
			}
		}
	})
}

// A line for each command would keep a slow network busy for a minute. /help NAME explains one
// of them, everywhere.
func TestHelpIsShortWhereLinesAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			b.Channel = exclaims{w.net}
		})
		slow := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			b.Channel = byLines{exclaims{w.net}}
		})
		slow.say("1", "/help")
		synctest.Wait()
		if got := slow.lastText("1"); strings.Count(got, "\n") > 4 || !strings.Contains(got, "I know: !help, !new, ") || !strings.HasSuffix(got, "!help new says what one of them does.") {
			t.Errorf("/help says %q", got)
		}
		for text, want := range map[string]string{
			"/help new":   "!new: start a new conversation (the old one is kept)",
			"/help !STOP": "!stop: stop the answer that is being written",
			"/help stpo":  "There is no !stpo. Did you mean !stop? I know: !help,",
			"/help":       "- !new: start a new conversation",
		} {
			w.say("1", text)
			synctest.Wait()
			if got := w.lastText("1"); !strings.Contains(got, want) {
				t.Errorf("%s says %q, want %q", text, got, want)
			}
		}
	})
}

// In a shared chat, /help promises no change to those who may only look. What is not
// configured is neither offered nor meant by anybody.
func TestHelpIsForWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, choices)
		w.say("1", "/help")
		m := w.message("group", "/help")
		m.Private, m.Addressed = false, true
		m.Sender = channels.Person{IDs: []string{"2"}, Name: "P2"}
		w.accept(m)
		synctest.Wait()
		for chat, want := range map[string]string{
			"1":     "- /model: show the models, or choose the one that answers here\n",
			"group": "- /model: show the models, and which one answers here\n",
		} {
			got := w.lastText(chat)
			if !strings.Contains(got, want) {
				t.Errorf("in %s, /help lacks %q:\n%s", chat, want, got)
			}
			for _, off := range []string{"/memory", "/forget", "/allow", "/approvals"} {
				if strings.Contains(got, off) {
					t.Errorf("in %s, /help offers %s, which is not configured:\n%s", chat, off, got)
				}
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t) // one model
		w.say("1", "/modle")
		synctest.Wait()
		if got := w.lastText("1"); strings.Contains(got, "/model") {
			t.Errorf("where there is one model, the person is told %q", got)
		}
	})
}

// A command that does not exist is answered without the model. What only begins like one
// is a question.
func TestUnknownCommands(t *testing.T) {
	const known = " I know: /help, /new, /stop, /again, /compact, /title, /think, /status, /start"
	for text, want := range map[string]string{
		"/foo":                        "There is no /foo." + known,
		"/skills gpt":                 "There is no /skills." + known,
		"  /Usage\nof today ":         "There is no /usage." + known,
		"/statsu":                     "There is no /statsu. Did you mean /status?" + known,
		"/comp":                       "There is no /comp. Did you mean /compact?" + known,
		"/newchat":                    "There is no /newchat. Did you mean /new?" + known,
		"/hlep":                       "There is no /hlep. Did you mean /help?" + known,
		"/помощь":                     "There is no /помощь." + known,
		"/log-in_2":                   "There is no /log-in_2." + known,
		"/etc/passwd what is this?":   "",
		"/home/ann":                   "",
		"/notes.txt is empty":         "",
		"/ is the root":               "",
		"// a comment":                "",
		"/* a comment */":             "",
		"/3 of them":                  "",
		"/^a+$/ matches what?":        "",
		"what does /foo do?":          "",
		"`/foo`":                      "",
		"and/or":                      "",
		"/" + strings.Repeat("a", 40): "",
		"/foo: what is it?":           "",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			w.say("1", text)
			if want == "" {
				want = "echo " + strings.TrimSpace(text)
			}
			w.expect("1", want)
			if strings.HasPrefix(want, "There") && len(w.agent.turns) > 0 {
				t.Errorf("%q asks the model", text)
			}
		})
	}
}

// It is spelled as people type it, and is no question that /again repeats.
func TestUnknownCommandIsSpelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = exclaims{w.net} })
		w.say("1", "hello")
		synctest.Wait()
		w.say("1", "/stpo")
		synctest.Wait()
		if got := w.lastText("1"); !strings.HasPrefix(got, "There is no !stpo. Did you mean !stop? I know: !help, !new, ") {
			t.Errorf("an unknown command is answered with %q", got)
		}
		w.say("1", "/again")
		synctest.Wait()
		if got := w.lastText("1"); !strings.HasSuffix(got, "] hello") {
			t.Errorf("/again after it is answered with %q", got)
		}
	})
}

// Our texts name commands as people type them; the model's answers are left
// alone.
func TestCommandsAreNamedAsTheyAreTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = exclaims{w.net} })
		for _, command := range []string{"/help", "/title", "/start"} {
			w.say("1", command)
			synctest.Wait()
			if got := w.lastText("1"); !strings.Contains(got, "!") || strings.Contains(got, " /") {
				t.Errorf("%s is answered with %q, want commands that begin with an exclamation mark", command, got)
			}
		}
		w.say("1", "where is /new/help?")
		synctest.Wait()
		if got := w.lastText("1"); got != "echo where is /new/help?" {
			t.Errorf("the model's answer arrives as %q", got)
		}
	})
}

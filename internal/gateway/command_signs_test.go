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

// completing is a network that offers the commands while people type.
type completing struct {
	*network
	offered *[]channels.Command
}

func (c completing) SetCommands(cmds []channels.Command) { *c.offered = cmds }

// /help lists every command that a network offers.
func TestHelpListsTheOfferedCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offered []channels.Command
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = completing{w.net, &offered} })
		w.say("1", "/help")
		synctest.Wait()
		if len(offered) < 5 {
			t.Errorf("offered %v", offered)
		}
		for _, c := range offered {
			if got := w.lastText("1"); !strings.Contains(got, "- /"+c.Name+": "+c.Help) {
				t.Errorf("/help does not list /%s:\n%s", c.Name, got)
			}
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

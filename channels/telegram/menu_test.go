package telegram_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
)

// operatorChat is the private chat of whoever runs the bot.
const operatorChat = 7

func menuOf(names ...string) (list []channels.Command) {
	for _, name := range names {
		list = append(list, channels.Command{Name: name, Help: "do " + name})
	}
	return list
}

// offers waits until each kind of chat offers these commands.
func (n *network) offers(t *testing.T, private, group, operator string) {
	t.Helper()
	want := []string{private, group, operator}
	var got []string
	n.waitFor(t, "the menus "+strings.Join(want, " | "), func() bool {
		got = got[:0]
		for _, chat := range []int64{42, -5, operatorChat} {
			var names []string
			for _, c := range n.Commands(chat) {
				names = append(names, c.Command)
			}
			got = append(got, strings.Join(names, " "))
		}
		return cmp.Equal(got, want)
	})
}

// Each kind of chat offers its own commands. Another menu is registered while the bot runs,
// and only what has changed of it.
func TestMenus(t *testing.T) {
	n := newNetwork(t)
	n.Server.Private(botapi.Person(operatorChat, "Olga")).Say(botapi.Person(operatorChat, "Olga"), "hello")
	c := n.open(t, telegram.Options{})
	m := channels.Menu{Private: menuOf("new", "forget_me"), Shared: menuOf("new"), Operator: menuOf("new", "all"), OperatorChat: "7"}
	m.Private = append(m.Private, channels.Command{Name: "Not-Valid", Help: "x"}, channels.Command{Name: "stop"})
	c.SetCommands(m)
	n.run(t, c)
	n.offers(t, "new forget_me", "new", "new all")
	if diff := cmp.Diff(botapi.Command{Command: "new", Description: "do new"}, n.Commands(42)[0]); diff != "" {
		t.Errorf("a command (-want +got):\n%s", diff)
	}

	m.Shared = menuOf("new", "help")
	c.SetCommands(m)
	n.offers(t, "new forget_me", "new help", "new all")
	if calls := n.Count("setMyCommands"); calls != 4 {
		t.Errorf("%d menus were registered, want three and one that changed", calls)
	}

	m.OperatorChat = ""
	c.SetCommands(m)
	n.offers(t, "new forget_me", "new help", "new forget_me")
}

// A menu that Telegram did not take is tried again, and one of a chat that does not exist
// stands in nobody's way.
func TestMenusAreTriedAgain(t *testing.T) {
	n := newNetwork(t)
	n.Break(botapi.Fault{Method: "setMyCommands", Status: 500, Times: 2})
	c := n.open(t, telegram.Options{})
	c.SetCommands(channels.Menu{Private: menuOf("new"), Shared: menuOf("help"), Operator: menuOf("all"), OperatorChat: "7"})
	n.run(t, c)
	n.offers(t, "new", "help", "new")
	c.SetCommands(channels.Menu{Private: menuOf("stop"), Shared: menuOf("help"), Operator: menuOf("all"), OperatorChat: "7"})
	n.offers(t, "stop", "help", "stop")
	if calls := n.Count("setMyCommands"); calls != 6 {
		t.Errorf("%d calls, want two that failed, three, and one that changed", calls)
	}
}

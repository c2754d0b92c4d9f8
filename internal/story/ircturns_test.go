package story_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"
)

// tale is the long answer to "who: …".
func tale(who string) []string {
	return []string{
		who + " 1", who + " 2", "```go", who + " 3", who + " 4", who + " 5", "```",
		who + " 6", who + " 7", who + " 8", who + " 9", who + " 10",
	}
}

// Two people ask in one channel, and both answers are long: the second person
// sees the first line of theirs long before the first answer is out. A reader
// can tell whose each line is, and code stays in one piece. A kill in the middle
// loses nothing, and at most the line that was on its way is seen twice.
func TestAnswersInAChannelTakeTurns(t *testing.T) {
	server := ircd.StartNgircd(t, ircd.NgircdOptions{})
	h := newHouse(t, plan{options: agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		who, _, _ := strings.Cut(r.LastUser()[strings.LastIndex(r.LastUser(), "\n")+1:], ":")
		return agenttest.TextReply(strings.Join(tale(who), "\n"))
	}}})
	anna, bob := ircd.Join(t, server.Addr(), "anna", "#go"), ircd.Join(t, server.Addr(), "bob", "#go")
	h.configure(plan{channels: fmt.Sprintf(`allow: []
  home:
    type: irc
    server: %s
    tls: false
    nick: dragoman
    channels: ["#go"]
    allow: ["chat:#go"]
    flood: {burst: 1, every: 800ms}`, server.Addr())})
	d := h.start()
	anna.Say("#go", "dragoman: tell me a long story")
	anna.WaitHeard("dragoman", "#go", 1)
	bob.Say("#go", "dragoman: and one for me")
	testkit.Eventually(t, "the answer to bob to begin", func() bool {
		return slices.Contains(anna.Heard("dragoman", "#go"), "bob: bob 1")
	})
	if got := anna.Heard("dragoman", "#go"); slices.Contains(got, "anna 9") {
		t.Errorf("the answer to bob begins after that to anna: %q", got)
	}
	_ = d.cmd.Process.Signal(syscall.SIGKILL)
	<-d.ended
	d.over = true
	h.start()
	testkit.Eventually(t, "both answers to be out", func() bool {
		got := strings.Join(anna.Heard("dragoman", "#go"), "\n")
		return strings.Contains(got, "anna 10") && strings.Contains(got, "bob 10")
	})
	told := map[string][]string{}
	var seen []string
	who, again := "", 0
	for _, line := range anna.Heard("dragoman", "#go") {
		for _, name := range []string{"anna", "bob"} {
			if rest, named := strings.CutPrefix(line, name+": "); named {
				who, line = name, rest
			}
		}
		if rest, marked := strings.CutPrefix(line, "↻ "); marked {
			again++
			if n := len(told[who]); n > 0 && told[who][n-1] == rest {
				continue // it had arrived
			}
			line = rest
		}
		told[who] = append(told[who], line)
		seen = append(seen, line)
	}
	for _, name := range []string{"anna", "bob"} {
		if !slices.Equal(told[name], tale(name)) {
			t.Errorf("%s is told %q, want %q", name, told[name], tale(name))
		}
	}
	if again > 1 {
		t.Errorf("%d lines are marked as repeated, want one at most", again)
	}
	for _, name := range []string{"anna", "bob"} {
		if code := strings.Join(tale(name)[2:7], "\n"); !strings.Contains(strings.Join(seen, "\n"), code) {
			t.Errorf("the code for %s is torn apart", name)
		}
	}
	if t.Failed() {
		t.Logf("the room heard:\n%s", strings.Join(anna.Heard("dragoman", "#go"), "\n"))
	}
}

package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoutes(t *testing.T) {
	c, err := load(t, "heartbeat: {jobs: [{name: news, every: 1h, target: \"web:a\", prompt: x}]}\n"+
		"routes: [{from: web, to: \"cli:direct\", name: Ann}, {from: \"heartbeat:news\", to: \"web:b\"}, {from: \"cli:direct\", to: web}]")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"web to cli:direct (Ann)", "heartbeat:news to web:b", "cli:direct to web"}; !cmp.Equal(c.Routed(), want) {
		t.Errorf("Routed = %q, want %q", c.Routed(), want)
	}
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0].String(), "routes[2].to: lets the model write to every chat that this stands for") {
		t.Errorf("the warnings are %v", w)
	}
}

func TestWrongRoutes(t *testing.T) {
	for name, tt := range map[string]struct{ routes, want string }{
		"from nowhere":      {"{to: \"web:a\"}", "routes[0].from: is missing"},
		"to nowhere":        {"{from: web}", "routes[0].to: is missing"},
		"no such channel":   {"{from: web, to: \"irc:ann\"}", `routes[0].to: there is no channel "irc"`},
		"no such job":       {"{from: \"heartbeat:x\", to: \"web:a\"}", `routes[0].from: there is no job "x"; configured: HEARTBEAT.md`},
		"to a job":          {"{from: web, to: \"heartbeat:x\"}", `routes[0].to: there is no channel "heartbeat"`},
		"to no room":        {"{from: cli, to: \"web:Kitchen\"}", `routes[0].to: "web:Kitchen" can be no room; write a name of a-z, 0-9, _ and -, like web:kitchen`},
		"to itself":         {"{from: \"web:a\", to: \"web:a\"}", "routes[0].to: is the chat itself"},
		"a name of several": {"{from: cli, to: web, name: Ann}", "routes[0].name: stands for several chats"},
		"a channel's name":  {"{from: cli, to: \"web:a\", name: Web}", `routes[0].name: "Web" names a channel`},
		"a key as a name":   {"{from: cli, to: \"web:a\", name: \"a:b\"}", `routes[0].name: "a:b" names a channel`},
		"a long name":       {"{from: cli, to: \"web:a\", name: " + strings.Repeat("n", 41) + "}", "routes[0].name: has spaces around, or more"},
		"two of one name":   {"{from: cli, to: \"web:a\", name: Ann}, {from: cli, to: \"web:b\", name: ann}", `routes[1].name: "ann" leads to "web:a" in another route`},
	} {
		_, err := load(t, "routes: ["+tt.routes+"]")
		if got := problems(t, err); !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: the problem is %q, want %q", name, got[0], tt.want)
		}
	}
}

// What nobody could read is a problem before it is said: a room of the page or the terminal
// has a name of few letters.
func TestTargetsThatCanBeNoRoom(t *testing.T) {
	for target, want := range map[string]bool{
		"web:Kitchen": false, "cli:my room": false, "web:telegram:42/Kitchen": false, "web:-x": false,
		"web:kitchen": true, "cli:direct": true, "web:telegram:42/kitchen_2": true,
	} {
		for name, yaml := range map[string]string{
			"a job":  "heartbeat: {jobs: [{name: a, every: 1h, prompt: x, target: %q}]}",
			"alerts": "alerts: {to: %q}",
		} {
			_, err := load(t, fmt.Sprintf(yaml, target))
			got := strings.Contains(fmt.Sprint(err), "can be no room")
			if got == want || want && err != nil {
				t.Errorf("%s to %s: %v", name, target, err)
			}
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// Commands in hints are for a shell: each word is one, whatever stands in it.
func TestCommand(t *testing.T) {
	for _, test := range []struct {
		program, config, verb string
		words                 []string
		want                  string
	}{
		{"dragoman", "", "chat", nil, "dragoman chat"},
		{"bin/dragoman", "a.yaml", "sessions list", nil, "bin/dragoman -c a.yaml sessions list"},
		{"dragoman", "it's  mine.yaml", "run", nil, `dragoman -c 'it'\''s  mine.yaml' run`},
		{"dragoman", "~x.yaml", "run", nil, "dragoman -c '~x.yaml' run"},
		{"dragoman", "", "sessions erase", []string{"irc:mask:hank!h@example.org", ""}, "dragoman sessions erase 'irc:mask:hank!h@example.org' ''"},
		{"dragoman", "", "jobs log", []string{"two words\x1b"}, "dragoman jobs log 'two words·'"},
		{"dragoman", "", "jobs log", []string{"#early"}, "dragoman jobs log '#early'"},
		{"dragoman", "", "sessions show", []string{"irc:#go"}, "dragoman sessions show irc:#go"},
	} {
		e := &env{program: test.program, config: test.config}
		if got := e.command(test.verb, test.words...); got != test.want {
			t.Errorf("command = %s, want %s", got, test.want)
		}
	}
}

// Whoever manages the service is told to start the service: its daemon must run
// as its own user.
func TestStarting(t *testing.T) {
	for name, test := range map[string]struct {
		config  string
		systemd bool
		want    string
	}{
		"the service":           {"/etc/dragoman/config.yaml", true, "sudo systemctl start dragoman"},
		"a machine without it":  {"/etc/dragoman/config.yaml", false, "dragoman run"},
		"somebody's own":        {"/home/ann/dragoman.yaml", true, "dragoman run"},
		"no configuration file": {"built-in defaults (no configuration file)", true, "dragoman run"},
	} {
		if got := (&env{program: "dragoman"}).starting(test.config, test.systemd); got != test.want {
			t.Errorf("%s: start it with %s, want %s", name, got, test.want)
		}
	}
}

// What the daemon advises is a command of the one who asks.
func TestHintsOfChannels(t *testing.T) {
	var out bytes.Buffer
	e := &env{out: &out, program: "bin/dragoman", config: "a.yaml"}
	e.status(api.Status{Info: api.Info{Channels: map[string]api.ChannelStatus{
		"phone": {State: channels.StateFailed, Detail: "needs pairing: the phone ended it; run: dragoman login phone"},
		"other": {State: channels.StateFailed, Detail: "needs pairing: dragoman login phone is a joke"},
	}}})
	want := "daemon     is not running; start it with: bin/dragoman -c a.yaml run\n" +
		"other      failed: needs pairing: dragoman login phone is a joke\n" +
		"phone      failed: needs pairing: the phone ended it; run: bin/dragoman -c a.yaml login phone\n"
	if out.String() != want {
		t.Errorf("status says\n%swant\n%s", out.String(), want)
	}
}

// What to do after the end of the daemon is a command of the one who asked.
func TestHintsAfterTheEnd(t *testing.T) {
	socket, _ := testkit.Ending(t)
	c := api.Dial(socket)
	defer c.Close()
	var out bytes.Buffer
	e := &env{err: &out, program: "bin/dragoman", config: "a.yaml"}
	code := e.report(plainErrorf(api.RunJob.Call(t.Context(), c, api.JobName{Name: "x"}), "x"))
	if want := "check `bin/dragoman -c a.yaml jobs list` before"; code != exitFailed || !strings.Contains(out.String(), want) {
		t.Errorf("it ends with %d and %q, want %q in it", code, out.String(), want)
	}
}

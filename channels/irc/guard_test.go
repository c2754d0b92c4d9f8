package irc_test

import (
	"slices"
	"strings"
	"testing"

	"dragoman/channels/channeltest/ircd"
)

// No line of ours in a channel begins like a command of other bots, wherever it comes from.
func TestNoLineIsACommand(t *testing.T) {
	const guard = "\u2060"
	for name, text := range map[string]string{
		"second line":       "Here you are:\n\n!op mallory",
		"first line":        ".kick alice",
		"list":              "- a\n\n@ban b\n\n~x",
		"bold":              "one\n\n**!op mallory**",
		"code":              "```\na\n  !op mallory\n.quit\n```",
		"question":          "really\n\n?help",
		"where it is cut":   strings.Repeat("x", 400) + " " + strings.Repeat("!mallory ", 60),
		"cut without space": strings.Repeat("!", 1200),
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{Host: strings.Repeat("h", 63)})
			b := startInGo(t, addr)
			alice := ircd.Join(t, addr, "alice", "#go")
			if err := b.send("irc:#go", text); err != nil {
				t.Fatalf("Send = %v", err)
			}
			bare := func(line string) string { return strings.TrimLeft(line, " \x02\x1d\x1e\x11") }
			guarded := func(line string) bool { return strings.HasPrefix(bare(line), guard) }
			alice.Sync() // Send knows that the server has all lines, not that alice has read them.
			heard := alice.Heard("dragoman", "#go")
			if !slices.ContainsFunc(heard, guarded) {
				t.Errorf("alice heard %q, want a guarded line", heard)
			}
			signs := 0
			for _, line := range heard {
				signs += strings.Count(line, "!")
				if strings.ContainsAny(bare(line)[:1], "!.?@~") {
					t.Errorf("a line is %q", line)
				}
			}
			if want := strings.Count(text, "!"); signs != want {
				t.Errorf("%d exclamation marks arrived, want all %d: a line was too long for the server", signs, want)
			}
			for _, l := range srv.Heard("dragoman") {
				if len(l) > 510 {
					t.Errorf("it sent %d bytes", len(l))
				}
			}
		})
	}
}

// A person alone is no bot: what they copy has nothing in it that is not seen.
func TestPrivateLinesAreNotGuarded(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := start(t, quick(addr))
	alice := ircd.Join(t, addr, "alice")
	if err := b.send("irc:alice", ".gitignore"); err != nil {
		t.Fatal(err)
	}
	if got := alice.WaitHeard("dragoman", "alice", 1)[0]; got != ".gitignore" {
		t.Errorf("heard %q", got)
	}
}

// In a multiline message, the lines that others see one by one are guarded too.
func TestNoLineOfABatchIsACommand(t *testing.T) {
	srv, b, _, _ := startMultiline(t, "max-bytes=4096,max-lines=24", ircd.Config{Host: strings.Repeat("h", 63)})
	if err := b.send("irc:#go", strings.Repeat("x", 400)+" "+strings.Repeat("!mallory ", 60)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, line := range srv.Heard("dragoman") {
		tags, text, _ := strings.Cut(line, " PRIVMSG #go ")
		if !strings.HasPrefix(tags, "@batch=") {
			continue
		}
		seen++
		bare := strings.TrimLeft(strings.TrimPrefix(text, ":"), " \x02\x1d\x1e\x11")
		if strings.ContainsAny(bare[:1], "!.?@~") {
			t.Errorf("a line of the batch is %q", line)
		}
	}
	if seen < 2 {
		t.Errorf("heard %q, want a batch of lines", srv.Heard("dragoman"))
	}
}

//go:build !nowhatsapp

package whatsapp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	waBinary "go.mau.fi/whatsmeow/binary"
)

const (
	crash   = "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 7 [running]:\ngo.mau.fi/whatsmeow/binary.Unpack({0x0, 0x0, 0x0})\n\n"
	faulted = "fatal error: concurrent map writes\n\ngoroutine 9 [running]:\nruntime.throw()\ncreated by go.mau.fi/whatsmeow.NewClient\n\n"
	foreign = "panic: a bug of ours\n\ngoroutine 1 [running]:\nmain.main()\n\n"
)

// Three crashes of the library within ten minutes keep the channel off.
func TestCrashes(t *testing.T) {
	for name, test := range map[string]struct {
		report string
		age    time.Duration
		off    bool
	}{
		"three":           {crash + faulted + crash, 0, true},
		"two":             {crash + crash, 0, false},
		"one not its own": {crash + foreign + crash, 0, false},
		"long ago":        {crash + crash + crash, 11 * time.Minute, false},
		"nested":          {strings.Replace(crash, "\n\n", "\n\tpanic: again\n\n", 1) + crash, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, wasim.Options{})
			n.crashed(t, test.report, test.age)
			c := n.open(t, whatsapp.Options{})
			channeltest.Start(t, c, channeltest.NewInbox())
			if !test.off {
				reach(t, c, channels.StateConnected, "")
				return
			}
			reach(t, c, channels.StateFailed, "crashing: ")
			if got := n.Count("dial"); got != 0 {
				t.Errorf("%d dials, want none", got)
			}
		})
	}
}

// crashed writes crash reports of that age.
func (n *network) crashed(t *testing.T, report string, age time.Duration) {
	t.Helper()
	file := n.file + ".crashes"
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Now(), time.Now().Add(-age)); err != nil {
		t.Fatal(err)
	}
}

// A channel that stays off does not take the reports of another channel's crashes.
func TestCrashOfOneOfTwoChannels(t *testing.T) {
	const inChild = "DRAGOMAN_TEST_CRASHES"
	if os.Getenv(inChild) != "" {
		work, home := newNetwork(t, wasim.Options{}), newNetwork(t, wasim.Options{})
		c := work.open(t, whatsapp.Options{})
		channeltest.Start(t, c, channeltest.NewInbox())
		reach(t, c, channels.StateConnected, "")
		home.crashed(t, crash+crash+crash, 0)
		off := home.open(t, whatsapp.Options{})
		channeltest.Start(t, off, channeltest.NewInbox())
		reach(t, off, channels.StateFailed, "crashing: ")
		work.Faults.Frame([]byte{0, 248, 1, 0})
		time.Sleep(soon)
		t.Fatal("the frame has not crashed the program")
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestCrashOfOneOfTwoChannels$")
	child.Env = append(os.Environ(), inChild+"=yes", "TMPDIR="+dir)
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(string(out), "panic: interface conversion") {
		t.Fatalf("the program ended with %v, want a crash of the library:\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.crashes"))
	if err != nil || len(files) != 2 {
		t.Fatalf("crash reports are in %v, %v, want two files", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if got := strings.Count("\n"+string(b), "\npanic: "); err != nil || got != 1 && string(b) != crash+crash+crash {
			t.Errorf("a file has %d reports, %v, want one, or the three old ones:\n%s", got, err, b)
		}
	}
}

// A person can make a channel that is off try again.
func TestCrashesForgotten(t *testing.T) {
	for name, mend := range map[string]func(t *testing.T, c *whatsapp.Channel){
		"revive": func(_ *testing.T, c *whatsapp.Channel) { c.Revive() },
		"login": func(t *testing.T, c *whatsapp.Channel) {
			if account, err := c.Link(within(t), "", nil); account != "+15550000001" || err != nil {
				t.Errorf("Link = %q, %v, want the account that is linked", account, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, wasim.Options{})
			n.crashed(t, crash+crash+crash, 0)
			c := n.open(t, whatsapp.Options{})
			channeltest.Start(t, c, channeltest.NewInbox())
			reach(t, c, channels.StateFailed, "crashing: ")
			mend(t, c)
			reach(t, c, channels.StateConnected, "")
		})
	}
}

func TestRevive(t *testing.T) {
	c, err := whatsapp.New("whatsapp", whatsapp.Options{Device: filepath.Join(t.TempDir(), "device.db")})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		state  channels.State
		reason string
		want   bool
	}{
		{channels.StateConnected, "", false},
		{channels.StateConnecting, "", false},
		{channels.StateDown, "", true},
		{channels.StateDown, "refused", true},
		{channels.StateDown, "outdated", true},
		{channels.StateDown, "banned", false}, // An attempt would not shorten it.
		{channels.StateFailed, "replaced", true},
		{channels.StateFailed, "needs_pairing", false},
	} {
		if got := whatsapp.Revived(c, test.state, test.reason); got != test.want {
			t.Errorf("Revive in state %s, reason %q wakes Run: %t, want %t", test.state, test.reason, got, test.want)
		}
	}
}

// These are the panics in docs/whatsapp.md. If a new version of the library has fixed one,
// this test fails, and the docs must change.
func TestPanicsOfTheLibrary(t *testing.T) {
	for name, frame := range map[string][]byte{
		"Unpack of nothing":    {},
		"readPacked8":          {0, 248, 1, 251, 128},
		"readNode without tag": {0, 248, 1, 0},
		"readNode with a list": {0, 248, 1, 248, 0},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("decoding %x no longer panics", frame)
				}
			}()
			if plain, err := waBinary.Unpack(frame); err == nil {
				_, _ = waBinary.Unmarshal(plain)
			}
		})
	}
}

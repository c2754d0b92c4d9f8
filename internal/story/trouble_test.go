package story_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
)

// A network goes away: the operator is told once in their own conversation, and
// told once more when it is back, while the other networks live.
func TestAlertsToTheOperator(t *testing.T) {
	server := ircd.StartNgircd(t, ircd.NgircdOptions{})
	h := newHouse(t, plan{
		rest: `alerts: {to: "telegram:71", after: 1s}`,
		channels: fmt.Sprintf(`allow: ["*"]
  libera: {type: irc, server: %s, tls: false, nick: dragoman, channels: ["#go"], allow: ["chat:#go"], flood: {burst: 20, every: 10ms}}`, server.Addr()),
	})
	h.start()
	h.tell(ann, "hello #1")
	h.said(ann.ID, 1)

	server.Stop()
	told := h.said(ann.ID, 2)[1]
	if !strings.HasPrefix(told, "Something is wrong:") || !strings.Contains(told, "Channel libera has not worked since ") {
		t.Errorf("the operator is told %q", told)
	}
	h.tell(bob, "and you? #2")
	if got := h.said(bob.ID, 1)[0]; got != "echo: and you? #2" {
		t.Errorf("Telegram says %q meanwhile", got)
	}
	server.Restart()
	told = h.said(ann.ID, 3)[2]
	if !strings.Contains(told, "Channel libera works again. The trouble lasted from ") || strings.Contains(told, "not work") {
		t.Errorf("the operator is told %q when it is well again", told)
	}
	alice := ircd.Join(t, server.Addr(), "alice", "#go")
	alice.Say("#go", "dragoman: there you are #3")
	if got := alice.WaitHeard("dragoman", "#go", 1); !strings.Contains(got[0], "#3") {
		t.Errorf("after the outage the bot says %q on IRC", got)
	}
	h.said(ann.ID, 3) // and nothing more
}

// malformed is a frame that WhatsApp's library crashes on.
var malformed = []byte{0, 248, 1, 0}

// A frame that crashes the whole program after each login: the third crash
// keeps WhatsApp off, says so and what to do, and the other channels live on.
func TestWhatsAppCrashLoop(t *testing.T) {
	w := newWhatsApp(t)
	w.house.configure(plan{channels: "allow: [\"*\"]\n  whatsapp:\n    type: whatsapp\n    allow: [\"" + w.ann.Number() + "\"]"})
	w.begin()
	w.login()
	w.answers("hello #1")
	for i := range 3 {
		w.reaches(connected)
		w.server.Faults.Frame(malformed)
		if err := <-w.ended; err == nil || !strings.Contains(w.out.String(), "go.mau.fi/whatsmeow") {
			t.Fatalf("crash %d: the daemon ended with %v", i+1, err)
		}
		w.over = true
		w.begin()
	}
	w.dials = w.server.Count("dial")
	off := condition{channels.StateFailed, "crashing", "crashing: WhatsApp's library ended the daemon 3 times in a row", "dragoman login whatsapp"}
	w.sees(off)
	w.still(0)
	w.house.tell(bob, "and you? #2")
	if got := w.said(bob.ID, 1)[0]; got != "echo: and you? #2" {
		t.Errorf("Telegram says %q meanwhile", got)
	}

	// The frame is gone, and the operator says so.
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.sees(connected)
	w.answers("hello again #3")
}

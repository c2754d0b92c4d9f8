//go:build !nowhatsapp

package whatsapp_test

import (
	"database/sql"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// A message that could not be encrypted for the person it is for was not sent,
// though WhatsApp acknowledges it.
func TestNoKeysForThePerson(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	m := channels.Outbound{ID: "1", Key: n.Key(), Text: "Here is the answer.", Attempt: 1}
	n.Faults.FailQueries("encrypt", 500)
	if r, err := c.Send(within(t), m); err == nil {
		t.Errorf("Send without her phone's keys = %v, nil; want an error", r)
	}
	n.Faults.FailQueries("encrypt", 0)
	m.Attempt++
	send(t, c, m)
	n.wantTexts(t, m.Text)
}

// The same for a device file that fails for a moment.
func TestNoKeysInTheFile(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	send(t, c, channels.Outbound{ID: "0", Key: n.Key(), Text: "Hello."})
	db, err := sql.Open("sqlite", "file:"+n.file+"?_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rename := func(from, to string) {
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	m := channels.Outbound{ID: "1", Key: n.Key(), Text: "Here is the answer.", Attempt: 1}
	rename("whatsmeow_identity_keys", "away")
	if r, err := c.Send(within(t), m); err == nil {
		t.Errorf("Send without the table of identities = %v, nil; want an error", r)
	}
	rename("away", "whatsmeow_identity_keys")
	m.Attempt++
	send(t, c, m)
	n.wantTexts(t, "Hello.", m.Text)
}

// wantTexts waits until Ann's phone shows these messages.
func (n *network) wantTexts(t *testing.T, want ...string) {
	t.Helper()
	got := func() []string { return n.ann.Texts() }
	if err := n.Wait(within(t), func() bool { return len(got()) >= len(want) }); err != nil {
		t.Fatalf("Ann's phone shows %q, want %q", got(), want)
	}
}

//go:build !nowhatsapp

package whatsapp_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
)

// restarted stops a channel and starts another one, which knows only the device file.
func restarted(t *testing.T, n *network, stop func()) (c *whatsapp.Channel, inbox *channeltest.Inbox, again func()) {
	t.Helper()
	if stop != nil {
		stop()
	}
	c, inbox = n.open(t, whatsapp.Options{Names: []string{"dragoman"}}), channeltest.NewInbox()
	again = channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	return c, inbox, again
}

// A change has the id and the author of the message that it changes, in private chats and
// groups, also after a restart. The intake knows whether that message was for us.
func TestChangesOfEarlierMessages(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	bob, eve := n.Contact("+15550000003", "Bob"), n.Contact("+15550000004", "Eve")
	g := n.Group("friends", n.ann, bob, eve)
	_, inbox, stop := restarted(t, n, nil)
	private := n.ann.Say("in private")
	for _, text := range []string{"talk", "dragoman: wrnog", "dragoman: gone", "dragoman: rude", "dragoman: too rude"} {
		n.ann.SayIn(g, text)
	}
	var ids []string
	for _, m := range inbox.Wait(t, 6) {
		if !m.Private {
			ids = append(ids, m.MessageID)
		}
	}
	_, inbox, _ = restarted(t, n, stop)
	n.ann.HideOther(true)
	n.ann.GoByPhone(true)
	n.ann.Revoke(private)
	n.ann.Edit(ids[0], "more talk")
	n.ann.Edit(ids[1], "dragoman: wrong")
	n.ann.Revoke(ids[2])
	bob.Revoke(ids[3])       // an admin
	n.Owner().Revoke(ids[4]) // another one
	eve.Send(wasim.Note{In: g, Revoke: "3ANEVERSEEN"})
	type change struct {
		text, edits string
		private     bool
		addressed   bool
		deletes     channels.Deletion
		author      string
	}
	const bySender, byAdmin = "[this message was deleted by its sender]", "[this message was deleted by an admin]"
	want := []change{
		{bySender, private, true, false, channels.DeletedBySender, n.ann.Number()},
		{"more talk", ids[0], false, false, "", n.ann.Number()},
		{"wrong", ids[1], false, true, "", n.ann.Number()},
		{bySender, ids[2], false, false, channels.DeletedBySender, n.ann.Number()},
		{byAdmin, ids[3], false, false, channels.DeletedByAdmin, n.ann.Number()},
		{byAdmin, ids[4], false, false, channels.DeletedByAdmin, n.ann.Number()},
		{bySender, "3ANEVERSEEN", false, false, channels.DeletedBySender, eve.Number()},
	}
	var got []change
	for _, m := range inbox.Wait(t, len(want)) {
		got = append(got, change{m.Text, m.Edits, m.Private, m.Addressed, m.Deletes, m.Sender.ID()})
		if m.MessageID != m.Edits {
			t.Errorf("%q has the id %s, want that of the message that it changes, %s", m.Text, m.MessageID, m.Edits)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
		t.Errorf("stored after the restart (-want +got):\n%s", diff)
	}
}

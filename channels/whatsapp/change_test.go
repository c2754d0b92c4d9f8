package whatsapp_test

import (
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
)

// restarted ends a channel and returns another one, which knows only what the
// device file does.
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

// What was said before a restart can be changed and deleted after it, in
// private and in a group, and stays as much for the assistant as it was.
func TestChangesAfterRestart(t *testing.T) {
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
		if m.Edits == "" && !m.Private {
			ids = append(ids, m.MessageID)
		}
	}
	_, inbox, _ = restarted(t, n, stop)
	n.ann.HideOther(true)
	n.ann.GoByPhone(true)
	n.ann.Revoke(private)
	n.ann.Send(wasim.Note{To: n.Owner(), Revoke: "3ANEVERSEEN"})
	n.ann.Edit(ids[0], "more talk")
	n.ann.Edit(ids[1], "wrong")
	n.ann.Revoke(ids[2])
	bob.Revoke(ids[3])       // an admin
	n.Owner().Revoke(ids[4]) // another one
	eve.Send(wasim.Note{In: g, Revoke: "3ANEVERSEEN"})
	n.ann.Send(wasim.Note{In: n.Group("others", n.ann), Revoke: ids[1]})
	eve.SayIn(g, "done")
	type change struct {
		text, edits, prefix string
		addressed           bool
		deletes             channels.Deletion
	}
	var got []change
	for _, m := range inbox.Wait(t, 7) {
		got = append(got, change{m.Text, m.Edits, m.Prefix, m.Addressed, m.Deletes})
		if m.Edits != "" && m.MessageID != m.Edits {
			t.Errorf("%q names %s, want the message that it changes, %s", m.Text, m.MessageID, m.Edits)
		}
		if m.Edits != "" && !slices.Contains(m.Sender.IDs, n.ann.Number()) {
			t.Errorf("%q is %v's, want that of the author of the message", m.Text, m.Sender.IDs)
		}
	}
	want := []change{
		{"[this message was deleted by its sender]", private, "", false, channels.DeletedBySender},
		{"more talk", ids[0], "Ann: ", false, ""},
		{"wrong", ids[1], "Ann: ", true, ""},
		{"[this message was deleted by its sender]", ids[2], "Ann: ", true, channels.DeletedBySender},
		{"[this message was deleted by an admin]", ids[3], "Ann: ", true, channels.DeletedByAdmin},
		{"[this message was deleted by an admin]", ids[4], "Ann: ", true, channels.DeletedByAdmin},
		{"done", "", "Eve: ", false, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
		t.Errorf("after the restart came (-want +got):\n%s", diff)
	}
}

// A message that an edit made one for the assistant is one for it when it is
// deleted, and when it is edited once more, also after a restart.
func TestAddressedByAnEdit(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	bob := n.Contact("+15550000003", "Bob")
	g := n.Group("friends", n.ann, bob)
	_, inbox, stop := restarted(t, n, nil)
	mine, theirs, other := n.ann.SayIn(g, "talk"), n.ann.SayIn(g, "more talk"), n.ann.SayIn(g, "just talk")
	n.ann.Edit(mine, "dragoman: talk")
	n.ann.Edit(theirs, "@dragoman more talk")
	n.ann.Edit(mine, "talk to all")
	n.ann.Revoke(mine)
	inbox.Wait(t, 7)
	_, after, _ := restarted(t, n, stop)
	bob.Revoke(theirs)
	n.ann.Revoke(other)
	type change struct {
		text, edits string
		addressed   bool
		deletes     channels.Deletion
	}
	var got []change
	for _, m := range slices.Concat(inbox.Wait(t, 7)[3:], after.Wait(t, 2)) {
		got = append(got, change{m.Text, m.Edits, m.Addressed, m.Deletes})
	}
	want := []change{
		{"talk", mine, true, ""},
		{"more talk", theirs, true, ""},
		{"talk to all", mine, true, ""},
		{"[this message was deleted by its sender]", mine, true, channels.DeletedBySender},
		{"[this message was deleted by an admin]", theirs, true, channels.DeletedByAdmin},
		{"[this message was deleted by its sender]", other, false, channels.DeletedBySender},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
		t.Errorf("came (-want +got):\n%s", diff)
	}
}

// Where messages disappear, so does the answer: also after a change of a
// message and after a restart, and until somebody writes one that stays.
func TestAnswersDisappear(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox, stop := restarted(t, n, nil)
	answer := func(id string, want time.Duration) {
		t.Helper()
		send(t, c, channels.Outbound{ID: id, Key: n.Key(), Text: id})
		all := n.ann.Received()
		if last := all[len(all)-1]; last.Text != id || last.Expires != want {
			t.Errorf("%s is shown as %q and disappears after %s, want %s", id, last.Text, last.Expires, want)
		}
	}
	answer("before anything", 0)
	id := n.ann.Send(wasim.Note{Text: "gone in a day", Ephemeral: 24 * time.Hour})
	inbox.Wait(t, 1)
	answer("to a message", 24*time.Hour)
	n.ann.Edit(id, "gone tomorrow")
	inbox.Wait(t, 2)
	answer("to a change", 24*time.Hour)
	c, inbox, stop = restarted(t, n, stop)
	answer("after a restart", 24*time.Hour)
	n.ann.Edit(id, "gone")
	inbox.Wait(t, 1)
	answer("to a change after it", 24*time.Hour)
	n.ann.Say("this stays")
	inbox.Wait(t, 2)
	answer("to one that stays", 0)
	c, _, _ = restarted(t, n, stop)
	answer("after another restart", 0)
}

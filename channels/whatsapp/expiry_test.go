//go:build !nowhatsapp

package whatsapp_test

import (
	"database/sql"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

const day = 24 * time.Hour

// timer is the message by which a phone changes how long messages live.
func timer(d time.Duration) *waE2E.Message {
	return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_EPHEMERAL_SETTING.Enum(), EphemeralExpiration: proto.Uint32(uint32(d.Seconds())),
	}}
}

// vanishing is a channel, and the network on which Ann gets its answers.
type vanishing struct {
	*network
	c     *whatsapp.Channel
	inbox *channeltest.Inbox
	stop  func()
	said  int
}

func newVanishing(t *testing.T) *vanishing {
	v := &vanishing{network: newNetwork(t, wasim.Options{})}
	v.restart(t)
	return v
}

func (v *vanishing) restart(t *testing.T) {
	t.Helper()
	v.c, v.inbox, v.stop = restarted(t, v.network, v.stop)
	v.said = 0
}

// says makes Ann send a message, and waits until the intake has it.
func (v *vanishing) says(t *testing.T, n wasim.Note) (id string) {
	t.Helper()
	id = v.ann.Send(n)
	v.said++
	v.inbox.Wait(t, v.said)
	return id
}

// tells sends a message that never reaches the intake, and waits until it was handled.
func (v *vanishing) tells(t *testing.T, who *wasim.Contact, n wasim.Note) {
	t.Helper()
	who.Send(n)
	if err := v.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
}

func (v *vanishing) answer(t *testing.T, when string, want time.Duration) {
	t.Helper()
	v.answerTo(t, v.Key(), when, want)
}

func (v *vanishing) answerTo(t *testing.T, k channels.Key, when string, want time.Duration) {
	t.Helper()
	send(t, v.c, channels.Outbound{ID: when, Key: k, Text: when})
	all := v.ann.Received()
	if last := all[len(all)-1]; last.Text != when || last.Expires != want {
		t.Errorf("%s: %q disappears after %s, want %s", when, last.Text, last.Expires, want)
	}
}

// Answers disappear if messages do, until somebody turns that off: also after an edit,
// after a message without the setting, and after a restart.
func TestAnswersDisappear(t *testing.T) {
	v := newVanishing(t)
	v.answer(t, "before anything", 0)
	id := v.says(t, wasim.Note{Text: "gone in a day", Ephemeral: day})
	v.answer(t, "to a message", day)
	v.says(t, wasim.Note{Edit: id, Text: "gone tomorrow"})
	v.answer(t, "to a change", day)
	v.says(t, wasim.Note{Raw: &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{ID: proto.String(id)},
		EditedMessage: &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("gone soon"), ContextInfo: &waE2E.ContextInfo{Expiration: proto.Uint32(60)},
		}},
	}}})
	v.answer(t, "to a change that says something else", day)
	v.says(t, wasim.Note{Text: "sent by an old program"})
	v.answer(t, "to one that says nothing", day)
	v.says(t, wasim.Note{Text: "an answer of an old program", Quote: id})
	v.answer(t, "to an answer that says nothing", day)
	v.restart(t)
	v.answer(t, "after a restart", day)
	v.says(t, wasim.Note{Edit: id, Text: "gone"})
	v.answer(t, "to a change after it", day)
	v.tells(t, v.ann, wasim.Note{Raw: timer(0)})
	v.answer(t, "to one that stays", 0)
	v.restart(t)
	v.answer(t, "after another restart", 0)
	v.tells(t, v.ann, wasim.Note{Raw: timer(7 * day)})
	v.answer(t, "after a word of Ann's", 7*day)
	v.tells(t, v.Owner(), wasim.Note{To: v.ann, Raw: timer(90 * day)})
	v.answer(t, "after a word of the owner's", 90*day)
	v.says(t, wasim.Note{Raw: &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("stays"), ContextInfo: &waE2E.ContextInfo{Expiration: proto.Uint32(0)},
	}}})
	v.answer(t, "to one that says that it stays", 0)
}

// In a group the setting comes from the server and from messages.
func TestAnswersDisappearInGroup(t *testing.T) {
	v := newVanishing(t)
	g := v.Group("friends", v.ann)
	key := channels.MustKey("whatsapp:" + g.JID().String())
	answer := func(when string, want time.Duration) {
		t.Helper()
		send(t, v.c, channels.Outbound{ID: when, Key: key, Text: when})
		all := g.Received()
		if last := all[len(all)-1]; last.Text != when || last.Expires != want {
			t.Errorf("%s: %q disappears after %s, want %s", when, last.Text, last.Expires, want)
		}
	}
	set := func(d time.Duration) {
		t.Helper()
		g.SetTimer(d)
		if err := v.WaitDrained(within(t)); err != nil {
			t.Fatal(err)
		}
		v.says(t, wasim.Note{In: g, Text: "dragoman: " + d.String()}) // It arrives after the change.
	}
	set(day)
	answer("after a day was set", day)
	v.restart(t)
	answer("after a restart", day)
	set(0)
	answer("after it was turned off", 0)
	v.says(t, wasim.Note{In: g, Text: "dragoman: soon gone", Ephemeral: 7 * day})
	answer("to a message", 7*day)
}

// The setting of a conversation under a LID moves to the one under the number.
func TestAnswersDisappearAfterJoin(t *testing.T) {
	v := newVanishing(t)
	v.stop()
	in := &joining{Inbox: channeltest.NewInbox()}
	v.stop = channeltest.Start(t, v.c, in)
	reach(t, v.c, channels.StateConnected, "")
	v.ann.HideOther(true)
	v.ann.Send(wasim.Note{Text: "one", Ephemeral: day})
	if got := in.Wait(t, 1)[0].Key.Chat(); got != v.ann.LID().String() {
		t.Fatalf("key = %s, want the LID", got)
	}
	v.ann.HideOther(false)
	v.ann.Say("two")
	if got := in.Wait(t, 2)[1].Key; got != v.Key() {
		t.Fatalf("key = %s, want the number", got)
	}
	v.answer(t, "in the joined conversation", day)
	v.restart(t)
	v.answer(t, "after a restart", day)
}

// The file of an older version had another table, which is removed.
func TestDeviceFileOfOlderVersion(t *testing.T) {
	v := newVanishing(t)
	v.stop()
	db, err := sql.Open("sqlite", "file:"+v.file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE dragoman_seen (id TEXT NOT NULL, chat TEXT NOT NULL, author TEXT NOT NULL, addressed INTEGER NOT NULL,
		expires INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (id, chat, author)) WITHOUT ROWID;
		INSERT INTO dragoman_seen VALUES ('3A', '+15550000002', '{}', 1, 0, 1)`); err != nil {
		t.Fatal(err)
	}
	v.stop = nil
	v.restart(t)
	v.says(t, wasim.Note{Text: "hello"})
	if got := column(t, db, `SELECT name FROM sqlite_schema WHERE name LIKE '%seen%'`); got != nil {
		t.Errorf("the file still has %q", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

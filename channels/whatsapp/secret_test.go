//go:build !nowhatsapp

package whatsapp_test

import (
	"bytes"
	"testing"

	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/util/gcmutil"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"google.golang.org/protobuf/proto"
)

// secretEdit is an edit in a second layer of encryption, as some phones send it. Its key is
// derived from a secret in the original message.
func secretEdit(t *testing.T, who *wasim.Contact, id string, secret []byte, inner *waE2E.Message) *waE2E.Message {
	t.Helper()
	plain, err := proto.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	author := who.LID().String()
	key := hkdfutil.SHA256(secret, nil, []byte(id+author+author+"Message Edit"), 32)
	iv := bytes.Repeat([]byte{7}, 12)
	sealed, err := gcmutil.Encrypt(key, iv, plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &waE2E.Message{SecretEncryptedMessage: &waE2E.SecretEncryptedMessage{
		TargetMessageKey: &waCommon.MessageKey{ID: &id, FromMe: proto.Bool(true)}, EncPayload: sealed, EncIV: iv,
		SecretEncType: waE2E.SecretEncryptedMessage_MESSAGE_EDIT.Enum(),
	}}
}

// An edit in a second layer counts as an edit, whatever form it has inside, in private chats
// and groups. If it cannot be decrypted, it is quarantined and blocks nothing.
func TestSecretEdit(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	g := n.Group("friends", n.ann)
	inbox := channeltest.NewInbox()
	connectedTo(t, n, whatsapp.Options{Names: []string{"dragoman"}}, inbox)
	secret := bytes.Repeat([]byte{1}, 32)
	say := func(in *wasim.Group, text string, with []byte) string {
		return n.ann.Send(wasim.Note{In: in, Raw: &waE2E.Message{
			ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: &text}, MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: with},
		}})
	}
	edited := func(id, text string) *waE2E.Message {
		return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: &waCommon.MessageKey{ID: &id}, EditedMessage: &waE2E.Message{Conversation: &text},
		}}
	}
	private := say(nil, "one", secret)
	shared := say(g, "dragoman: two", secret)
	lost := say(nil, "three", nil)
	inbox.Wait(t, 3)
	plain, wrapped := edited(private, "bare"), edited(private, "wrapped")
	for _, e := range []wasim.Note{
		{Raw: secretEdit(t, n.ann, private, secret, plain)},
		{Raw: secretEdit(t, n.ann, private, secret, &waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: wrapped}})},
		{Raw: secretEdit(t, n.ann, private, secret, &waE2E.Message{Conversation: proto.String("words alone")})},
		{In: g, Raw: secretEdit(t, n.ann, shared, secret, edited(shared, "in the group"))},
		{Raw: secretEdit(t, n.ann, lost, secret, edited(lost, "cannot be read"))},
	} {
		n.ann.Send(e)
	}
	n.ann.Say("after")
	all := inbox.Wait(t, 8)
	for i, want := range [][2]string{{"bare", private}, {"wrapped", private}, {"words alone", private}, {"in the group", shared}, {"after", ""}} {
		if m := all[3+i]; m.Text != want[0] || m.Edits != want[1] || !m.Private != (m.Edits == shared) {
			t.Errorf("message %d = %+v, want %q as an edit of %s", i, m, want[0], want[1])
		}
	}
	if a := inbox.Quarantined(); len(a) != 1 {
		t.Errorf("quarantined %+v, want the edit that cannot be decrypted", a)
	}
}

//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// gated is an intake like that of a gateway that answers in groups only when addressed.
type gated struct{ *channeltest.Inbox }

func (g gated) Accept(ctx context.Context, m channels.Inbound) error {
	if !m.Private && !m.Addressed {
		return nil
	}
	return g.Inbox.Accept(ctx, m)
}

// photo sends a picture to a group, in an album or alone.
func photo(g *wasim.Group, album, caption string) wasim.Note {
	return wasim.Note{In: g, Album: album, Text: caption, Media: &wasim.Media{Kind: wasim.Image, Mime: "image/jpeg", Data: noise(20)}}
}

// Each picture of an album is a message. If one of them addresses us, the whole album is
// for us, in order: the earlier parts and the later ones, also after a restart. Other
// people's pictures are not.
func TestAlbumInGroup(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	bob := n.Contact("+15550000003", "Bob")
	g := n.Group("friends", n.ann, bob)
	inbox := channeltest.NewInbox()
	c := n.open(t, whatsapp.Options{Names: []string{"dragoman"}})
	stop := channeltest.Start(t, c, gated{inbox})
	reach(t, c, channels.StateConnected, "")
	n.ann.Send(wasim.Note{In: g, ID: "3AALBUM1", Raw: &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{ExpectedImageCount: proto.Uint32(4)}}})
	var want [][3]string
	part := func(who *wasim.Contact, album, caption, text string) {
		id := who.Send(photo(g, album, caption))
		if text != "-" {
			want = append(want, [3]string{id, album, text})
		}
	}
	part(n.ann, "3AALBUM1", "", "")
	part(bob, "3AALBUM1", "", "-")
	part(n.ann, "3AALBUM0", "", "-")
	part(n.ann, "3AALBUM1", "the sea", "the sea")
	part(n.ann, "3AALBUM1", "dragoman: which one?", "which one?")
	part(n.ann, "3AALBUM1", "", "")
	n.ann.Send(wasim.Note{In: g, ID: "3AALBUM2", Raw: &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{
		ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{n.Owner().PN().String()}},
	}}})
	part(n.ann, "3AALBUM2", "", "")
	inbox.Wait(t, len(want))
	stop()
	c = n.open(t, whatsapp.Options{Names: []string{"dragoman"}})
	channeltest.Start(t, c, gated{inbox})
	reach(t, c, channels.StateConnected, "")
	part(bob, "3AALBUM1", "", "-")
	part(n.ann, "3AALBUM1", "", "")
	part(n.ann, "3AALBUM2", "more", "more")
	n.ann.SayIn(g, "dragoman: done")
	var got [][3]string
	for _, m := range inbox.Wait(t, len(want)+1)[:len(want)] {
		got = append(got, [3]string{m.MessageID, m.Album, m.Text})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored parts (-want +got):\n%s", diff)
	}
}

// Erasing a person or a group also erases album parts that wait for their caption, and no
// others.
func TestErasedAlbumParts(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	bob := n.Contact("+15550000003", "Bob")
	g, other := n.Group("friends", n.ann, bob), n.Group("others", n.ann, bob)
	inbox := channeltest.NewInbox()
	c := n.open(t, whatsapp.Options{Names: []string{"dragoman"}})
	channeltest.Start(t, c, gated{inbox})
	reach(t, c, channels.StateConnected, "")
	n.ann.Send(photo(g, "3AALBUM1", "of the erased"))
	bob.Send(photo(g, "3AALBUM2", "of another"))
	bob.Send(photo(other, "3AALBUM3", "in the erased group"))
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	keys := []channels.Key{channels.MustKey("whatsapp:" + other.JID().String())}
	if _, err := c.Erase(within(t), keys, []string{n.ann.Number()}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	n.ann.Send(photo(g, "3AALBUM1", "dragoman: one"))
	bob.Send(photo(g, "3AALBUM2", "dragoman: two"))
	bob.Send(photo(other, "3AALBUM3", "dragoman: three"))
	bob.SayIn(g, "dragoman: done")
	inbox.Until(t, "the last message", func() bool { return slices.Contains(inbox.Texts(), "done") })
	if diff := cmp.Diff([]string{"one", "of another", "two", "three", "done"}, inbox.Texts()); diff != "" {
		t.Errorf("stored after the erasure (-want +got):\n%s", diff)
	}
}

// An album is stored completely even if the inbox was full for a while.
func TestAlbumWhileTheInboxIsFull(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	g := n.Group("friends", n.ann)
	inbox := channeltest.NewInbox()
	connectedTo(t, n, whatsapp.Options{Names: []string{"dragoman"}}, gated{inbox})
	n.ann.Send(photo(g, "3AALBUM1", ""))
	n.ann.SayIn(g, "dragoman: hello")
	inbox.Wait(t, 1)
	inbox.Refuse(true)
	n.ann.Send(photo(g, "3AALBUM1", "dragoman: look"))
	testkit.Eventually(t, "both to be refused, or one to be lost", func() bool {
		r := len(inbox.Refused())
		return r >= 2 || r > 0 && n.Pending() == 0
	})
	if n.Pending() == 0 {
		t.Fatal("a message that was refused is acknowledged")
	}
	inbox.Refuse(false)
	if m := inbox.Wait(t, 3); m[1].Text != "" || m[2].Text != "look" || m[1].Album != m[2].Album || m[1].Album == "" {
		t.Errorf("stored %+v", m)
	}
}

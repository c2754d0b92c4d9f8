package whatsapp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
)

// mostReaction bounds an emoji in characters. Some have a dozen.
const mostReaction = 16

// reacted understands a reaction. Only those to what we wrote concern us, and
// one that was taken away says nothing.
func (r *reader) reacted(evt *events.Message, m *waE2E.ReactionMessage) (reading, bool, error) {
	i, about := &evt.Info, m.GetKey()
	emoji := markup.Clip(markup.Line(m.GetText()), mostReaction)
	if emoji == "" || about.GetID() == "" {
		return reading{}, false, nil
	}
	in, err := r.frame(i)
	if err != nil {
		return reading{}, false, err
	}
	text, err := r.sent(i.Chat, identify(i.Sender, i.SenderAlt), about.GetID())
	if err != nil {
		return reading{}, false, err
	}
	// Seen from the other side what is ours is not theirs.
	ours := in.Private && !i.IsFromMe && !about.GetFromMe()
	if author, err := types.ParseJID(about.GetParticipant()); err == nil && !in.Private {
		ours = r.self.is(author)
	}
	if !ours && text == "" {
		return reading{}, false, nil
	}
	in.Text, in.Reaction, in.Addressed = "[reacted with "+label(emoji)+"]", emoji, !in.Private
	in.Quote = &channels.Quote{ID: about.GetID(), Name: "you", Text: markup.Clip(text, mostQuote)}
	return reading{in: in}, true, nil
}

// sent finds what we wrote among what the library keeps for phones that ask
// for it again. It is kept under the chat's name at that time.
func (k *connection) sent(ctx context.Context, chat types.JID, who identity, id string) (string, error) {
	names := [2]types.JID{chat.ToNonAD(), chat.ToNonAD()}
	if chat.Server != types.GroupServer {
		who, err := k.file.complete(ctx, who)
		if err != nil {
			return "", err
		}
		names = [2]types.JID{who.lid, who.pn}
	}
	format, b, err := k.client.Store.EventBuffer.GetOutgoingEvent(ctx, names[0], names[1], id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("whatsapp: read what was sent: %w", err)
	case format != "wa":
		return "", nil
	}
	var m waE2E.Message
	if err := proto.Unmarshal(b, &m); err != nil {
		return "", nil // a note about its words is not worth more
	}
	said, _ := contentOf(&m)
	return said.inWords(), nil
}

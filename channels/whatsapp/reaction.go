//go:build !nowhatsapp

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

// maxReaction bounds an emoji in characters. Some have a dozen, such as a family
// with skin tones; longer texts are no emoji.
const maxReaction = 16

// reaction converts a reaction. It returns false if the reaction is not to a message of
// ours, or was removed.
func (r *reader) reaction(evt *events.Message, m *waE2E.ReactionMessage) (converted, bool, error) {
	i, about := &evt.Info, m.GetKey()
	emoji := markup.Clip(markup.Line(m.GetText()), maxReaction)
	if emoji == "" || about.GetID() == "" {
		return converted{}, false, nil
	}
	in, err := r.header(i)
	if err != nil {
		return converted{}, false, err
	}
	text, err := r.sent(i.Chat, identify(i.Sender, i.SenderAlt), about.GetID())
	if err != nil {
		return converted{}, false, err
	}
	// FromMe is from the sender's view: a message that is not theirs is ours.
	ours := in.Private && !i.IsFromMe && !about.GetFromMe()
	if author, err := types.ParseJID(about.GetParticipant()); err == nil && !in.Private {
		ours = r.self.is(author)
	}
	if !ours && text == "" {
		return converted{}, false, nil
	}
	in.Text = "[reacted with " + label(emoji) + "]"
	in.Reaction = emoji
	in.Addressed = !in.Private
	in.Quote = &channels.Quote{ID: about.GetID(), Name: "you", Text: markup.Clip(text, maxQuote)}
	return converted{in: in}, true, nil
}

// sentText is the text of a message that we sent. The library keeps sent messages for
// phones that ask again, under the chat's name at that time. If it has none, sentText
// returns "".
func (k *connection) sentText(ctx context.Context, chat types.JID, who identity, id string) (string, error) {
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
		return "", fmt.Errorf("whatsapp: read a sent message: %w", err)
	case format != "wa":
		return "", nil
	}
	var m waE2E.Message
	if err := proto.Unmarshal(b, &m); err != nil {
		return "", nil // The text is optional.
	}
	said, _ := contentOf(&m)
	return said.withNote(), nil
}

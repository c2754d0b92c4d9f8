//go:build !nowhatsapp

package whatsapp

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// content is what we use of a WhatsApp message.
type content struct {
	text string
	// note describes the file, for places that show only text.
	note  string
	files []channels.Attachment
	// about says whom the message mentions, which message it replies to and how long it
	// lives. It may be nil.
	about *waE2E.ContextInfo
}

func (c content) withNote() string {
	if c.note == "" || c.text == "" {
		return c.text + c.note
	}
	return c.text + "\n" + c.note
}

// contentOf returns the content of a message that the library has unwrapped: text, or a
// file with its caption, or a description of anything else. It returns false for
// messages that no person wrote: keys, settings, votes.
func contentOf(m *waE2E.Message) (content, bool) {
	switch {
	case m.GetConversation() != "":
		return content{text: m.GetConversation()}, true
	case m.GetExtendedTextMessage() != nil:
		text := m.GetExtendedTextMessage()
		return content{text: text.GetText(), about: text.GetContextInfo()}, text.GetText() != ""
	}
	if c, ok := fileOf(m); ok {
		return c, true
	}
	if about, note, caption, ok := otherContent(m); ok {
		text := "[" + strings.TrimSpace(note) + "]"
		if note == "" {
			text = caption
		} else if caption != "" {
			text = caption + "\n" + text
		}
		return content{text: text, about: about}, strings.TrimSpace(text) != ""
	}
	if inner := unwrap(m); inner != nil {
		return contentOf(inner)
	}
	if hasUnknownContent(m) {
		return content{text: "[a kind of message that cannot be read here]"}, true
	}
	return content{}, false
}

func fileOf(m *waE2E.Message) (content, bool) {
	one := func(about *waE2E.ContextInfo, note, caption string, a channels.Attachment) (content, bool) {
		return content{text: caption, note: "[" + strings.TrimSpace(note) + "]", about: about, files: []channels.Attachment{a}}, true
	}
	switch {
	case m.GetImageMessage() != nil:
		v := m.GetImageMessage()
		return one(v.GetContextInfo(), "photo", v.GetCaption(), attach(channels.AttachmentImage, "", v))
	case m.GetVideoMessage() != nil:
		v, note := m.GetVideoMessage(), "video, "
		if v.GetGifPlayback() {
			note = "animation, "
		}
		return one(v.GetContextInfo(), note+seconds(v.GetSeconds()), v.GetCaption(), attach(channels.AttachmentVideo, "", v))
	case m.GetPtvMessage() != nil:
		v := m.GetPtvMessage()
		return one(v.GetContextInfo(), "video message, "+seconds(v.GetSeconds()), v.GetCaption(), attach(channels.AttachmentVideo, "", v))
	case m.GetAudioMessage().GetPTT():
		v := m.GetAudioMessage()
		voice := attach(channels.AttachmentVoice, "", v)
		voice.Seconds = int(v.GetSeconds())
		return one(v.GetContextInfo(), "voice message, "+seconds(v.GetSeconds()), "", voice)
	case m.GetAudioMessage() != nil:
		v := m.GetAudioMessage()
		return one(v.GetContextInfo(), "audio, "+seconds(v.GetSeconds()), "", attach(channels.AttachmentAudio, "", v))
	case m.GetDocumentMessage() != nil:
		v := m.GetDocumentMessage()
		name := cmp.Or(v.GetFileName(), v.GetTitle())
		return one(v.GetContextInfo(), "file "+label(name), v.GetCaption(), attach(channels.AttachmentDocument, name, v))
	case m.GetStickerMessage() != nil:
		v := m.GetStickerMessage()
		return one(v.GetContextInfo(), "sticker", "", attach(channels.AttachmentSticker, "", v))
	}
	return content{}, false
}

// otherContent describes a message that is neither text nor a file. note says what it is,
// and caption is the text in it.
func otherContent(m *waE2E.Message) (about *waE2E.ContextInfo, note, caption string, ok bool) {
	if v := m.GetLocationMessage(); v != nil {
		note = "location " + position(v.GetDegreesLatitude(), v.GetDegreesLongitude())
		if v.GetName() != "" {
			note = "place " + label(v.GetName()+" "+v.GetAddress()) + ", " + position(v.GetDegreesLatitude(), v.GetDegreesLongitude())
		}
		return v.GetContextInfo(), note, v.GetComment(), true
	}
	if v := m.GetLiveLocationMessage(); v != nil {
		return v.GetContextInfo(), "live location, now " + position(v.GetDegreesLatitude(), v.GetDegreesLongitude()), v.GetCaption(), true
	}
	if v := m.GetContactMessage(); v != nil {
		return v.GetContextInfo(), "contact " + cardText(v), "", true
	}
	if v := m.GetContactsArrayMessage(); v != nil {
		cards := make([]string, 0, len(v.GetContacts()))
		for _, card := range v.GetContacts()[:min(len(v.GetContacts()), maxCards)] {
			cards = append(cards, cardText(card))
		}
		return v.GetContextInfo(), fmt.Sprintf("%d contacts: ", len(v.GetContacts())) + strings.Join(cards, " / "), "", true
	}
	if v := firstPoll(m); v != nil {
		options := make([]string, 0, len(v.GetOptions()))
		for _, o := range v.GetOptions() {
			options = append(options, label(o.GetOptionName()))
		}
		return v.GetContextInfo(), "poll " + label(v.GetName()) + ": " + strings.Join(options, " / "), "", true
	}
	if v := m.GetEventMessage(); v != nil {
		return v.GetContextInfo(), "event " + label(v.GetName()) + eventText(v), v.GetDescription(), true
	}
	if v := m.GetGroupInviteMessage(); v != nil {
		return v.GetContextInfo(), "invitation to the group " + label(v.GetGroupName()), v.GetCaption(), true
	}
	if v := m.GetListResponseMessage(); v != nil {
		return v.GetContextInfo(), "", v.GetTitle(), true
	}
	if v := m.GetButtonsResponseMessage(); v != nil {
		return v.GetContextInfo(), "", v.GetSelectedDisplayText(), true
	}
	v := m.GetTemplateButtonReplyMessage()
	return v.GetContextInfo(), "", v.GetSelectedDisplayText(), v != nil
}

func firstPoll(m *waE2E.Message) *waE2E.PollCreationMessage {
	return cmp.Or(m.GetPollCreationMessage(), m.GetPollCreationMessageV2(), m.GetPollCreationMessageV3(), m.GetPollCreationMessageV5(), m.GetPollCreationMessageV6())
}

// unwrap returns the message inside an envelope that the library does not open, or nil.
func unwrap(m *waE2E.Message) *waE2E.Message {
	return cmp.Or(
		m.GetEphemeralMessage(), m.GetViewOnceMessage(), m.GetViewOnceMessageV2(), m.GetViewOnceMessageV2Extension(),
		m.GetDocumentWithCaptionMessage(), m.GetLottieStickerMessage(), m.GetGroupMentionedMessage(), m.GetAssociatedChildMessage(),
		m.GetPollCreationMessageV4(), m.GetSpoilerMessage(), m.GetQuestionMessage(),
	).GetMessage()
}

// ignoredFields are the fields of messages that no person wrote. A vote and a pin are
// among them, because nobody expects an answer. Reactions are handled elsewhere.
var ignoredFields = map[protoreflect.Name]bool{
	"senderKeyDistributionMessage": true, "fastRatchetKeySenderKeyDistributionMessage": true, "messageContextInfo": true,
	"protocolMessage": true, "reactionMessage": true, "encReactionMessage": true, "pollUpdateMessage": true,
	"keepInChatMessage": true, "pinInChatMessage": true, "callLogMesssage": true, "call": true, "bcallMessage": true, "chat": true,
	"deviceSentMessage": true, "stickerSyncRmrMessage": true, "messageHistoryBundle": true, "messageHistoryNotice": true,
	"albumMessage": true, "secretEncryptedMessage": true, "placeholderMessage": true, "statusMentionMessage": true,
	"groupStatusMentionMessage": true, "statusAddYours": true, "groupStatusMessage": true, "groupStatusMessageV2": true,
	"statusNotificationMessage": true, "limitSharingMessage": true, "pollResultSnapshotMessage": true, "pollResultSnapshotMessageV3": true,
	"encEventResponseMessage": true, "scheduledCallEditMessage": true, "groupRootKeyShare": true, "rootSecretDistributeMessage": true,
	"pollAddOptionMessage": true, "statusQuotedMessage": true, "statusStickerInteractionMessage": true, "statusLinkPreviewMetadata": true,
	"requestPhoneNumberMessage": true, "conversation": true, "extendedTextMessage": true,
}

// hasUnknownContent reports whether a message has a field that a person must have sent,
// but that this package does not know.
func hasUnknownContent(m *waE2E.Message) bool {
	found := false
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		found = !ignoredFields[f.Name()]
		return !found
	})
	return found
}

// maxQuote bounds, in characters, the text that is kept of a message for quotes.
const maxQuote = 2000

// maxCards is how many contacts of one message are written out.
const maxCards = 20

// cardText is the name on a contact card, and what else it holds.
func cardText(v *waE2E.ContactMessage) string {
	fields := []string{label(v.GetDisplayName())}
	for _, field := range channels.CardFields(v.GetVcard()) {
		fields = append(fields, label(field))
	}
	return strings.Join(fields, ", ")
}

// eventText says when and where an event is, if the message does.
func eventText(v *waE2E.EventMessage) string {
	var b strings.Builder
	if v.GetStartTime() > 0 {
		b.WriteString(", begins " + time.Unix(v.GetStartTime(), 0).UTC().Format("2006-01-02 15:04 MST"))
	}
	if v.GetEndTime() > 0 {
		b.WriteString(", ends " + time.Unix(v.GetEndTime(), 0).UTC().Format("2006-01-02 15:04 MST"))
	}
	for _, more := range []string{v.GetLocation().GetName(), v.GetLocation().GetAddress(), v.GetJoinLink()} {
		if more != "" {
			b.WriteString(", " + label(more))
		}
	}
	if v.GetIsCanceled() {
		b.WriteString(", cancelled")
	}
	return b.String()
}

// label makes s fit inside the brackets of a note.
func label(s string) string {
	return markup.Clip(strings.NewReplacer("[", "(", "]", ")").Replace(markup.Line(s)), 200)
}

func seconds(n uint32) string { return strconv.FormatUint(uint64(n), 10) + " s" }

func position(lat, long float64) string { return fmt.Sprintf("%.5f, %.5f", lat, long) }

package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"dragoman/channels"
)

// follow is what follows from a refusal: what was refused, and so what may be tried
// next. Telegram refuses markup, a button, a reply, a place, a sort of message or a
// chat with the same code, and only its words tell them apart.
type follow int

const (
	refusedUnknown follow = iota
	refusedMarkup         // once more as plain text
	refusedButton         // once more without the button
	refusedReply          // once more, not as a reply
	refusedLength         // once more as a file
	refusedFile           // once more as a text
	refusedPicture        // once more as a document
	refusedSize           // once more as a text that says so
	refusedTopic          // the topic is gone: once more in the chat itself
	refusedClosed         // the topic is closed: wait until it may be open again
	refusedRight          // a file: once more as a text; a text: wait for the right
	refusedChat           // the bot is blocked or removed: wait until it may write again
	refusedForGood        // there is nobody to write to
	refusedNot            // not a refusal of this message, or an edit of what is gone
)

// refusal names the words by which Telegram says what it refuses.
type refusal struct {
	follow follow
	words  []string
}

// refusals are tried in order, because some words are part of others.
var refusals = []refusal{
	{refusedReply, []string{"message to be replied not found", "message to reply not found", "replied message not found", "REPLY_MESSAGE_ID_INVALID", "REPLY_TO_INVALID"}},
	{refusedNot, []string{"message is not modified", "message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID", "upgraded to a supergroup"}},
	{refusedMarkup, []string{"can't parse entities", "can't parse message text", "ENTITY_", "ENTITIES_TOO_LONG", "too many entities"}},
	{refusedButton, []string{"BUTTON_", "REPLY_MARKUP", "inline keyboard", "reply markup"}},
	{refusedLength, []string{"message is too long", "MESSAGE_TOO_LONG"}},
	{refusedTopic, []string{"message thread not found", "message thread id", "TOPIC_DELETED", "TOPIC_ID_INVALID", "topic not found"}},
	{refusedClosed, []string{"TOPIC_CLOSED", "topic is closed", "TOPIC_HIDDEN", "topic is hidden"}},
	{refusedSize, []string{"file is too big", "file is too large", "FILE_TOO_BIG", "Request Entity Too Large"}},
	{refusedPicture, []string{"PHOTO_INVALID", "PHOTO_SAVE_FILE_INVALID", "IMAGE_PROCESS_FAILED", "too big for a photo", "send photos", "send audios", "send music"}},
	{refusedFile, []string{"send documents", "send media", "send voice", "SEND_DOCS_FORBIDDEN", "SEND_MEDIA_FORBIDDEN", "caption is too long", "CAPTION_TOO_LONG", "file must be non-empty"}},
	{refusedForGood, []string{
		"chat not found", "user is deactivated", "group chat was deleted", "group chat was deactivated",
		"messages to bots", "PEER_ID_INVALID", "USER_ID_INVALID", "user not found",
	}},
	{refusedChat, []string{"blocked by the user", "was kicked", "is not a member", "can't initiate conversation", "need administrator rights", "CHAT_RESTRICTED", "PAYMENT_REQUIRED"}},
	{refusedRight, []string{"not enough rights", "no rights to send", "CHAT_WRITE_FORBIDDEN", "_FORBIDDEN", "CHAT_ADMIN_REQUIRED"}},
}

// followOf decides what was refused; false if err is no refusal of a message.
func followOf(err error) (follow, bool) {
	r := (*apiError)(nil)
	if !errors.As(err, &r) {
		return refusedNot, false
	}
	switch r.code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge:
	default:
		return refusedNot, false
	}
	for _, known := range refusals {
		if r.contains(known.words...) {
			return known.follow, true
		}
	}
	switch r.code {
	case http.StatusForbidden: // It is the chat that forbids.
		return refusedChat, true
	case http.StatusRequestEntityTooLarge:
		return refusedSize, true
	}
	return refusedUnknown, true
}

// form is how a message is sent. A refusal takes away what was refused.
type form struct {
	chat  int64
	topic int
	reply int // 0: none
	page  page
	file  *channels.File // with page as its caption; nil: page is the message
}

// longName is the file of a text that is too long for Telegram, and sayLong its caption.
// sayTooLarge takes the place of a file that Telegram does not take.
const (
	longName    = "answer.md"
	sayLong     = "This is too long for one message; the file has it."
	sayTooLarge = "(The file is too large for Telegram, so it is missing here. Ask me for a part of it.)"
)

// without returns f without what err refuses. It returns false if there is no other form.
func (f form) without(err error) (form, bool) {
	what, refused := followOf(err)
	if !refused {
		return f, false
	}
	switch what {
	case refusedMarkup:
		return f.asPlain()
	case refusedButton:
		had := len(f.page.keys) > 0
		f.page.keys = nil
		return f, had
	case refusedReply:
		had := f.reply != 0
		f.reply = 0
		return f, had
	case refusedTopic:
		had := f.topic != 0
		f.topic = 0
		f.reply = 0 // It was in the topic.
		return f, had
	case refusedLength:
		if f.file == nil {
			return f.asFile(), true
		}
		return f.asTooLarge()
	case refusedSize:
		if next, able := f.asDocument(); able {
			return next, true
		}
		return f.asTooLarge()
	case refusedPicture:
		return f.asDocument()
	case refusedFile, refusedRight:
		return f.asText()
	case refusedUnknown:
		if next, able := f.asDocument(); able {
			return next, true
		}
		if f.file != nil {
			return f.asText()
		}
		plain, ok := f.asPlain()
		had := ok || f.reply != 0 || len(f.page.keys) > 0
		plain.reply = 0
		plain.page.keys = nil
		return plain, had
	}
	return f, false
}

func (f form) asPlain() (form, bool) {
	had := f.page.html != ""
	f.page.html = ""
	return f, had
}

func (f form) asFile() form {
	f.file = &channels.File{Name: longName, Content: f.page.plain}
	f.page = page{html: sayLong, plain: sayLong}
	return f
}

// asDocument is a picture or a sound as a document, for which Telegram has other limits. A
// voice message has a text that says the same.
func (f form) asDocument() (form, bool) {
	if f.file == nil || f.file.Kind != channels.AttachmentImage && f.file.Kind != channels.AttachmentAudio {
		return f, false
	}
	file := *f.file
	file.Kind = channels.AttachmentDocument
	f.file = &file
	return f, true
}

// asText is the text instead of a file, if there is one.
func (f form) asText() (form, bool) {
	if f.file == nil || f.file.Instead == "" {
		return f, false
	}
	f.page = render(f.file.Instead)
	f.file = nil
	return f, true
}

// asTooLarge is a text that says why the file is missing.
func (f form) asTooLarge() (form, bool) {
	if f.file == nil {
		return f, false
	}
	f.page = render(sayTooLarge)
	f.file = nil
	return f, true
}

// chatError classifies the error of a call about a chat, as [classify] does, and
// remembers the places in which the bot may not write. since is what c.blocked.now said
// before the call: if the place was opened meanwhile, it is tried again at once.
func (c *Channel) chatError(chat int64, topic, since int, err error) error {
	what, refused := followOf(err)
	if !refused {
		return classify(err)
	}
	switch what {
	case refusedClosed:
		return c.blockedFor(chat, topicOf(topic), since, fmt.Errorf("%w: %w", errClosed, err))
	case refusedChat, refusedRight:
		return c.blockedFor(chat, wholeChat, since, fmt.Errorf("%w: %w", errBlocked, err))
	}
	return classify(err)
}

// blockedFor says how long a message waits for its place.
func (c *Channel) blockedFor(chat int64, topic, since int, cause error) error {
	if !c.blocked.add(chat, topic, since) {
		return retryBlocked(time.Second, cause)
	}
	return retryBlocked(blockedPause, cause)
}

// classify converts the error of a call to the classes that Send documents.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if b := (*callError)(nil); errors.As(err, &b) {
		if !b.reached {
			return &channels.NotSent{Err: err}
		}
		return err
	}
	r := (*apiError)(nil)
	switch {
	case !errors.As(err, &r):
		return err
	case r.code == http.StatusTooManyRequests || r.after > 0:
		return &channels.Retry{After: max(r.after, time.Second), Err: &channels.NotSent{Err: err}}
	case refused(err):
		return &channels.NotSent{Err: err}
	case r.code >= 400 && r.code < 500 && r.code != http.StatusConflict && r.code != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", err, channels.ErrPermanent)
	default:
		return err // A failing server may have sent it.
	}
}

//go:build !nowhatsapp

package whatsapp

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/lazily"

	"go.mau.fi/whatsmeow"
)

// follow is what follows from a refusal: what was refused, and so what may be tried next.
type follow int

const (
	refusedNot     follow = iota // not a refusal, or one that may pass by itself
	refusedForm                  // once more without the quotation, then without the file
	refusedFile                  // once more as a text
	refusedChat                  // we may not write there now: wait until we may
	refusedPace                  // too many messages: wait a little
	refusedForGood               // there is nobody to write to
)

// refusals are the server's codes, what follows from each, and its known meaning.
var refusals = map[int]struct {
	follow  follow
	meaning string
}{
	400: {refusedForm, "it calls the message malformed"},
	401: {refusedChat, "we may not write there"},
	403: {refusedChat, "we may not write there"},
	404: {refusedForGood, "there is no such chat"},
	405: {refusedForm, "it does not allow that"},
	406: {refusedForm, "it does not accept the message"},
	410: {refusedForGood, "the chat is gone"},
	420: {refusedChat, "we are not in that group"},
	429: {refusedPace, "these were too many messages"},
	463: {refusedChat, "it does not let this number write to people who do not know it, for now"},
	479: {refusedForm, "it calls the message malformed"},
}

// uploads are the codes by which the server for files refuses one for good.
var uploads = []int{400, 413, 415}

var (
	serverCode = lazily.Compile(regexp.QuoteMeta(whatsmeow.ErrServerReturnedError.Error()) + ` (\d+)`)
	uploadCode = lazily.Compile(`upload failed with status code (\d+)`)
)

// followOf decides what was refused, and what that means in words.
func followOf(err error) (follow, string) {
	switch {
	case errors.Is(err, whatsmeow.ErrNotInGroup):
		return refusedChat, "we are not in that group"
	case errors.Is(err, whatsmeow.ErrGroupNotFound), errors.Is(err, whatsmeow.ErrUnknownServer), errors.Is(err, whatsmeow.ErrBroadcastListUnsupported),
		strings.Contains(err.Error(), "no LID found for"): // This is how the library says "not on WhatsApp".
		return refusedForGood, "there is nobody to write to"
	}
	if form := uploadCode.Regexp().FindStringSubmatch(err.Error()); form != nil {
		code, _ := strconv.Atoi(form[1]) // digits
		for _, known := range uploads {
			if code == known {
				return refusedFile, "it does not take the file"
			}
		}
		return refusedNot, ""
	}
	if code := groupCode(err); code != 0 {
		r := refusals[code]
		return r.follow, r.meaning
	}
	if form := serverCode.Regexp().FindStringSubmatch(err.Error()); errors.Is(err, whatsmeow.ErrServerReturnedError) && form != nil {
		code, _ := strconv.Atoi(form[1])
		r := refusals[code]
		return r.follow, r.meaning
	}
	return refusedNot, ""
}

// groupCode is the code with which the server refused to list a group's members, or 0. The
// library recognizes such an answer only by the server's exact text.
func groupCode(err error) int {
	answer := (*whatsmeow.IQError)(nil)
	if !errors.As(err, &answer) || !strings.Contains(err.Error(), "group members") {
		return 0
	}
	return answer.Code
}

// form is how a message is sent. A refusal takes away what was refused.
type form struct {
	quotes bool // the message that it answers, in a group
	text   string
	file   *channels.File // with text as its caption; nil: text is the message
}

// without returns f without what err refuses. It returns false if there is no other form.
func (f form) without(err error) (form, bool) {
	switch what, _ := followOf(err); {
	case what == refusedForm && f.quotes:
		f.quotes = false
		return f, true
	case what == refusedForm || what == refusedFile:
		return f.asText()
	}
	return f, false
}

// asText is the text instead of a file, if there is one.
func (f form) asText() (form, bool) {
	if f.file == nil || f.file.Instead == "" {
		return f, false
	}
	f.text = f.file.Instead
	f.file = nil
	return f, true
}

// chatError classifies the error of a message to chat, as [classify] does, and remembers
// that we may not write there.
func (c *Channel) chatError(chat string, err error) error {
	if what, _ := followOf(err); what == refusedChat {
		c.blocked.add(chat)
	}
	return classify(err)
}

// classify converts an error of the library to the classes that Send documents.
func classify(err error) error {
	what, meaning := followOf(err)
	switch {
	case errors.Is(err, whatsmeow.ErrNotConnected), errors.Is(err, whatsmeow.ErrNotLoggedIn):
		return &channels.NotSent{Err: err}
	case what == refusedChat:
		return retryBlocked(blockedPause, fmt.Errorf("%w: %s: %w", errBlocked, meaning, err))
	case what == refusedPace:
		return &channels.Retry{After: time.Minute, Err: &channels.NotSent{Err: err}}
	case what == refusedForm, what == refusedFile, what == refusedForGood:
		return fmt.Errorf("%w: %s: %w", err, meaning, channels.ErrPermanent)
	}
	return err
}

package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// leastName is how long a chat's or a person's id is that is looked for in
// what nobody could read: shorter ones stand in everything by chance.
const leastName = 5

// QuarantineNames reports whether a is about somebody or some chat that e erases.
// Nobody could read it, so all there is to go by is whether one of their ids
// stands in it, as a whole.
func QuarantineNames(a sessions.Quarantined, e sessions.Erasure) bool {
	names := SendersByChannel(e.Senders)[a.Channel]
	for _, k := range e.Keys {
		if k.Channel() == a.Channel {
			names = append(names, k.Chat())
		}
	}
	text := a.ID + "\n" + string(a.Raw)
	return slices.ContainsFunc(names, func(name string) bool {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "+"), "@") // as WhatsApp's own ids have it
		return len(name) >= leastName && HasWord(text, name)
	})
}

// Hash is how the dedupe string of an erased message is remembered.
func Hash(dedupe string) string {
	sum := sha256.Sum256([]byte(dedupe))
	return hex.EncodeToString(sum[:])
}

// Marks are the hashes by which m stays known when its row is deleted.
func Marks(m channels.Inbound) []string {
	marks := []string{Hash(Dedupe(m))}
	if mark, ok := ErasedMark(m); ok {
		marks = append(marks, mark)
	}
	return marks
}

// ErasedText stands for what a person said who is erased.
const ErasedText = "[erased]"

// Blank reports whether a conversation of so many messages has nothing that
// anybody said or chose.
func Blank(messages int, title string, s sessions.Settings) bool {
	return messages == 0 && title == "" && IsZeroSettings(s)
}

// EraseMessage takes from m what its sender gave.
func EraseMessage(m sessions.Message) sessions.Message {
	m.Content, m.Name, m.Sender, m.Attachments, m.Extra = ErasedText, "", "", nil, nil
	m.Attached = nil
	return m
}

// Copied reports whether m only shows again what people said or sent in its
// conversation.
func Copied(m sessions.Message) bool {
	return m.Role == sessions.RoleTool && (m.Name == sessions.HistoryTool || m.Name == sessions.AttachmentTool)
}

// EraseCopy is m, which is [Copied], without what it shows.
func EraseCopy(m sessions.Message) sessions.Message {
	m.Content, m.Extra, m.Attached = ErasedText, nil, nil
	return m
}

// Files adds the kept files of list to files.
func Files(files map[string]bool, list []channels.Attachment) {
	for _, a := range list {
		if a.File != "" {
			files[a.File] = true
		}
	}
}

// SendersByChannel are the ids of people on each channel.
func SendersByChannel(list []sessions.Sender) map[string][]string {
	ids := map[string][]string{}
	for _, s := range list {
		if s.Channel != "" && s.ID != "" {
			ids[s.Channel] = append(ids[s.Channel], s.ID)
		}
	}
	return ids
}

// CheckJoin refuses to join what cannot be one conversation.
func CheckJoin(from, to channels.Key) error {
	switch {
	case from.IsZero() || to.IsZero():
		return errors.New("a key is missing")
	case from.Channel() != to.Channel():
		return errors.New("the conversations are on two channels")
	}
	return nil
}

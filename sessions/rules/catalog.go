package rules

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Attachments returns a cleaned copy, nil for none.
func Attachments(list []channels.Attachment) []channels.Attachment {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i, a := range list {
		a.Kind = channels.AttachmentKind(Text(string(a.Kind)))
		a.Name, a.Type, a.Ref = Text(a.Name), Text(a.Type), Text(a.Ref)
		a.File, a.Missing = Text(a.File), Text(a.Missing)
		list[i] = a
	}
	return list
}

// Summary returns a cleaned copy of s.
func Summary(s sessions.Summary) sessions.Summary {
	s.Text, s.Model = Text(s.Text), Text(s.Model)
	s.Fields, s.At = JSON(s.Fields), Time(s.At)
	return s
}

// Settings returns a cleaned deep copy of s: tags sorted, each once.
func Settings(s sessions.Settings) sessions.Settings {
	s.Model, s.System = Text(s.Model), Text(s.System)
	var tags []string
	for _, t := range s.Tags {
		if t = strings.TrimSpace(Text(t)); t != "" {
			tags = append(tags, t)
		}
	}
	slices.Sort(tags)
	s.Tags, s.Metadata = slices.Compact(tags), Fields(s.Metadata)
	return s
}

// CheckSettings refuses metadata that is no JSON.
func CheckSettings(s sessions.Settings) error {
	for name, v := range s.Metadata {
		if !json.Valid(v) {
			return fmt.Errorf("the metadata %q is no JSON", name)
		}
	}
	return nil
}

// IsZeroSettings reports whether nothing was chosen.
func IsZeroSettings(s sessions.Settings) bool {
	return s.Model == "" && s.System == "" && len(s.Tags) == 0 && len(s.Metadata) == 0
}

// Page is how many conversations q asks for.
func Page(q sessions.Query) int {
	if q.Limit == 0 {
		return sessions.DefaultPage
	}
	return min(max(q.Limit, 1), sessions.MaxPage)
}

// MatchesAll reports whether q leaves no conversation out.
func MatchesAll(q sessions.Query) bool {
	return q.Channel == "" && q.Tag == "" && len(q.Metadata) == 0 && q.Text == "" && q.UpdatedAfter.IsZero() && q.UpdatedBefore.IsZero()
}

// Matches reports whether c is one of those that q chooses.
func Matches(q sessions.Query, c sessions.Conversation) bool {
	switch {
	case q.Channel != "" && c.Key.Channel() != q.Channel,
		q.Tag != "" && !slices.Contains(c.Tags, q.Tag),
		!q.UpdatedAfter.IsZero() && !c.Updated.After(q.UpdatedAfter),
		!q.UpdatedBefore.IsZero() && !c.Updated.Before(q.UpdatedBefore):
		return false
	}
	for name, want := range q.Metadata {
		if v, ok := c.Metadata[name]; !ok || plainJSON(v) != want {
			return false
		}
	}
	if q.Text == "" {
		return true
	}
	text := strings.ToLower(q.Text)
	return strings.Contains(strings.ToLower(c.Key.String()), text) || strings.Contains(strings.ToLower(c.Title), text)
}

// plainJSON is how a query writes a value: a string as it is, everything else
// as JSON in its shortest form.
func plainJSON(v json.RawMessage) string {
	var s string
	if bytes.HasPrefix(v, []byte(`"`)) && json.Unmarshal(v, &s) == nil {
		return s
	}
	// Stored values hold \u003c and its like for the sake of HTML.
	var value any
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if dec.Decode(&value) != nil || enc.Encode(value) != nil {
		return string(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Resets reports whether e may begin a new generation by its ResetBefore: an
// edit belongs to what it edits, and a control has its own rule.
func Resets(e sessions.Entry, o sessions.Outcome) bool {
	return !e.ResetBefore.IsZero() && e.Control == sessions.ControlNone && e.Inbound.Edits == "" && (o == sessions.Queued || o == sessions.Done)
}

// BestFound is Best over conversations: between equals, the later first.
func BestFound(query []string, found []sessions.Found, limit int) []sessions.Found {
	slices.SortFunc(found, func(a, b sessions.Found) int {
		return cmp.Or(a.Message.At.Compare(b.Message.At), cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Message.Seq, b.Message.Seq))
	})
	return Best(query, found, func(f sessions.Found) string { return f.Message.Content }, limit)
}

// Hash is how the dedupe string of an erased message is remembered.
func Hash(dedupe string) string {
	sum := sha256.Sum256([]byte(dedupe))
	return hex.EncodeToString(sum[:])
}

// ErasedText stands for what a person said who is erased.
const ErasedText = "[erased]"

// EraseMessage takes from m what its sender gave.
func EraseMessage(m sessions.Message) sessions.Message {
	m.Content, m.Name, m.Sender, m.Attachments, m.Extra = ErasedText, "", "", nil, nil
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

// Earliest is the earlier of two times, of which zero is none.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// A Chunk gathers messages for one [sessions.MessagesRecord]. All backends
// cut alike.
type Chunk struct {
	Messages []sessions.Message
	bytes    int
}

// Add takes m in and reports whether the chunk is full.
func (c *Chunk) Add(m sessions.Message) (full bool) {
	c.Messages = append(c.Messages, m)
	c.bytes += Bytes(m)
	return len(c.Messages) == 100 || c.bytes >= 1<<20
}

// DumpKeys are the keys to dump, sorted, each once.
func DumpKeys(keys []channels.Key) []channels.Key {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b channels.Key) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}

// CheckInbox refuses records of the inbox that no store wrote.
func CheckInbox(r sessions.InboxRecord) error {
	known := []string{InWaiting, InDone, InClosed, InDropped, InWithdrawn, InEdit}
	switch {
	case r.Inbound.Key.IsZero() || r.Inbound.ID == "" || r.Seq <= 0 || r.Seq >= 1<<31:
		return errors.New("an inbox record without key, id or seq")
	case !slices.Contains(known, r.State):
		return fmt.Errorf("an inbox record with the state %q", r.State)
	case r.State != InWaiting && r.Turn != "" || r.Turn == "" && len(r.Steps) > 0:
		return errors.New("an inbox record with a turn that cannot be")
	}
	return nil
}

// CheckOutbox refuses records of the outbox that no store wrote.
func CheckOutbox(r sessions.OutboxRecord) error {
	known := []sessions.DeliveryState{
		sessions.DeliveryQueued, sessions.DeliverySending, sessions.DeliveryUnknown,
		sessions.DeliverySent, sessions.DeliveryDead, sessions.DeliveryDropped,
	}
	if r.Key.IsZero() || r.ID == "" || r.Seq <= 0 || r.Seq >= 1<<31 {
		return errors.New("an outbox record without key, id or seq")
	}
	if !slices.Contains(known, r.State) {
		return fmt.Errorf("an outbox record with the state %q", r.State)
	}
	return nil
}

// ParseGeneration takes an id of a generation apart.
func ParseGeneration(id string) (day string, n int64, err error) {
	day, number, ok := strings.Cut(id, "_")
	if _, err := time.Parse(dayOfID, day); !ok || err != nil {
		return "", 0, errors.New("not the id of a generation")
	}
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || id != Generation(day, n) {
		return "", 0, errors.New("not the id of a generation")
	}
	return day, n, nil
}

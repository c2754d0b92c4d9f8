package storetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Whole puts a conversation called k into s that has something in every field
// of every object that a document of one can have.
func Whole(t *testing.T, s sessions.Store, k channels.Key) {
	t.Helper()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	file := func(name string) []channels.Attachment {
		return []channels.Attachment{
			{Kind: channels.AttachmentImage, Name: name, Type: "image/png", Bytes: 7, File: name},
			{Kind: channels.AttachmentVoice, Name: "2" + name, Missing: "too large"},
		}
	}
	person := channels.Person{IDs: []string{"42"}, Name: "alice"}
	usage := &sessions.Usage{Input: 30, Output: 4, Cached: 2, Cost: 0.5}
	call := []sessions.ToolCall{{ID: "c1", Name: "look", Arguments: `{"at":"<x>"}`}, {ID: "c2", Name: "wait", Arguments: "{}"}}
	said := []sessions.Message{
		{Seq: 1, Role: sessions.RoleUser, Content: "an old one", At: at, Sender: "42"},
		{Seq: 2, Role: sessions.RoleUser, Content: "and one", At: at, Sender: "42"},
		{Seq: 3, Role: sessions.RoleUser, Content: "another", At: at, Sender: "42"},
		{Seq: 4, Role: sessions.RoleUser, Content: "what is this?", Name: "alice", Sender: "42", At: at, Attachments: file("a.png")},
		{Seq: 5, Role: sessions.RoleAssistant, ToolCalls: call, At: at, Turn: "before", Model: "m", Usage: usage, Attached: attachedBy(`"sealed"`)},
		{Seq: 6, Role: sessions.RoleTool, Content: "a <cat>", ToolCallID: "c1", Name: "look", At: at, Turn: "before"},
		{Seq: 7, Role: sessions.RoleTool, Content: "failed", ToolCallID: "c2", Name: "wait", Failed: true, At: at, Turn: "before"},
		{Seq: 8, Role: sessions.RoleAssistant, Content: "A cat.", At: at, Turn: "before", Model: "m", Usage: usage, Extra: map[string]json.RawMessage{"content": raw(`[{"type":"text","text":"A cat."}]`), "mood": raw("1")}},
	}
	inbound := func(id, text string) channels.Inbound {
		return channels.Inbound{Key: k, ID: id, MessageID: "m" + id, Sender: person, Text: text, Prefix: "alice: ", Quote: &channels.Quote{ID: "q", Name: "bob", Text: "old"}, Forwarded: &channels.Forward{Name: "carl"}, Attachments: file(id), At: at}
	}
	asked := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: call, At: at, Model: "m", Usage: usage, Attachments: file("j.png"), Attached: attachedBy(`"sealed"`)}
	steps := []sessions.Step{{Kind: sessions.StepModel, Message: &asked, At: at}, {Kind: sessions.StepToolStart, CallID: "c1", At: at}}
	delivery := func(n int) sessions.OutboxRecord {
		return sessions.OutboxRecord{Delivery: sessions.Delivery{ID: fmt.Sprint("d", n), Key: k, Seq: int64(10 + n), Text: "A cat.", ReplyTo: "m1", State: sessions.DeliveryQueued, Created: at}}
	}
	one, two := delivery(1), delivery(2)
	records := []sessions.Record{
		{Conversation: &sessions.ConversationRecord{
			Key: k, Seq: 20, MessageSeq: 8, Title: "cats", Created: at, Updated: at,
			Generations: []sessions.Generation{{ID: "20260501_001", FirstSeq: 1, LastSeq: 1, Began: at}, {ID: "20260501_002", FirstSeq: 2, LastSeq: 8, Began: at}},
			Summaries:   []sessions.Summary{{Text: "s", CoversSeq: 2, Generation: "20260501_002", Model: "m", At: at, Fields: raw(`{"goal":{"a":[1]}}`)}, {Text: "s2", CoversSeq: 3, Generation: "20260501_002", At: at}},
			Settings:    sessions.Settings{Model: "m", System: "be short", Reasoning: "high", Tags: []string{"t"}, Metadata: map[string]json.RawMessage{"who": raw(`{"id":[{"n":1}]}`)}},
		}},
		{Messages: &sessions.MessagesRecord{Key: k, Messages: said}},
		{Inbox: &sessions.InboxRecord{Seq: 3, Inbound: inbound("1", "first"), Origin: sessions.OriginChat, State: "waiting", Turn: "turn/1", Attempts: 1, Accepted: at, Steps: steps}},
		{Inbox: &sessions.InboxRecord{Seq: 4, Inbound: inbound("2", "second"), Origin: sessions.OriginChat, State: "waiting", Accepted: at}},
		{Outbox: &one},
		{Outbox: &two},
	}
	must(t, s.Restore(t.Context(), func() (sessions.Record, error) {
		if len(records) == 0 {
			return sessions.Record{}, io.EOF
		}
		r := records[0]
		records = records[1:]
		return r, nil
	}))
}

// Everywhere is a document with a field that nobody knows in every object of
// it, at every depth, one more for each name there, which has it in other
// letters, and where each stands ("/head", "/head#KEY"). Not in the settings in the head,
// whose metadata stands at the top as well, where an edit of it counts, nor in
// what a message keeps apart.
func Everywhere(t *testing.T, document []byte) (edited []byte, places []string) {
	t.Helper()
	var doc map[string]any
	must(t, json.Unmarshal(document, &doc))
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if in := at + "/" + strings.ReplaceAll(name, "/", "~"); in != "/head/conversation/settings/metadata" && name != "extra" {
					walk(in, v[name])
				}
				if twin := strings.ToUpper(name); v[twin] == nil {
					v[twin] = theirs(len(places))
					places = append(places, at+"#"+twin)
				}
			}
			n := len(places)
			v[fmt.Sprint("zz_", n)] = theirs(n)
			places = append(places, at)
		case []any:
			for i, x := range v {
				walk(at+"/"+strconv.Itoa(i), x)
			}
		}
	}
	walk("", doc)
	edited, err := json.MarshalIndent(doc, "", "  ")
	must(t, err)
	return edited, places
}

// theirs is the value of the field with the number n: a text, which a time or a
// key can be, or what nothing of ours is.
func theirs(n int) any {
	if n%3 > 0 {
		return fmt.Sprintf("theirs <%d>", n)
	}
	return []any{map[string]any{"n<": float64(n)}, nil}
}

// FindEverywhere are the places at which a document does not have the field
// that [Everywhere] put there.
func FindEverywhere(t *testing.T, document []byte, places []string) (missing []string) {
	t.Helper()
	var doc any
	must(t, json.Unmarshal(document, &doc))
	for n, at := range places {
		at, field, twin := strings.Cut(at, "#")
		if !twin {
			field = fmt.Sprint("zz_", n)
		}
		v := doc
		for name := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
			name = strings.ReplaceAll(name, "~", "/")
			switch x := v.(type) {
			case map[string]any:
				if name != "" {
					v = x[name]
				}
			case []any:
				if i, err := strconv.Atoi(name); err == nil && i < len(x) {
					v = x[i]
				} else {
					v = nil
				}
			}
		}
		object, _ := v.(map[string]any)
		if !reflect.DeepEqual(object[field], theirs(n)) {
			missing = append(missing, at+"#"+field)
		}
	}
	return missing
}

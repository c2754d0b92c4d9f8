package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/plain"
	"dragoman/internal/respond"
)

// The bounds of results. A message can have 256 KiB, and a model reads all of a result.
const (
	maxItems   = 100
	usualItems = 20
	maxContent = 8 << 10 // of one message, in bytes
)

// arguments are those of all tools. A tool reads its own and ignores the others.
type arguments struct {
	Conversation string `json:"conversation"`
	Channel      string `json:"channel"`
	Query        string `json:"query"`
	Text         string `json:"text"`
	Before       string `json:"before"`
	After        string `json:"after"`
	Limit        int    `json:"limit"`
}

// page is how many items to ask for.
func (a *arguments) page() int { return min(max(cmp.Or(a.Limit, usualItems), 1), maxItems) }

// key is the conversation that the arguments name; needed: there must be one.
func (a *arguments) key(needed bool) (k channels.Key, err error) {
	if a.Conversation == "" && !needed {
		return k, nil
	}
	k, err = channels.ParseKey(a.Conversation)
	if err != nil {
		return k, errors.New("conversation is a key like telegram:123456, as the tool conversations lists it")
	}
	return k, nil
}

// tool is one of our tools.
type tool struct {
	name, title, description string
	properties               string // of its arguments, as JSON
	required                 []string
	writes                   bool
	run                      func(context.Context, *api.Client, *arguments) (any, error)
}

const (
	propConversation = `"conversation": {"type": "string", "description": "The conversation's key, like telegram:123456."}`
	propLimit        = `"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many; 20 if left out."}`
	propAfter        = `"after": {"type": "string", "description": "next of the result before, for what follows it."}`
)

// reading are the tools that change nothing.
var reading = []tool{
	{
		name: "conversations", title: "List conversations",
		description: "Lists conversations, the most recently used first. text finds them by a word in the title or the key.",
		properties:  `"text": {"type": "string", "description": "Only with this in the title or the key."}, "channel": {"type": "string", "description": "Only on this channel, like telegram."}, ` + propLimit + `, ` + propAfter,
		run:         conversations,
	},
	{
		name: "read", title: "Read a conversation",
		description: "Returns the newest messages of a conversation, oldest first. before is next of the result before, for older messages.",
		properties:  propConversation + `, "before": {"type": "string", "description": "next of the result before, for older messages."}, ` + propLimit,
		required:    []string{"conversation"},
		run:         readMessages,
	},
	{
		name: "search", title: "Search messages",
		description: "Finds messages with these words, the best first, in one conversation or in all.",
		properties:  `"query": {"type": "string", "description": "The words."}, ` + propConversation + `, ` + propLimit + `, ` + propAfter,
		required:    []string{"query"},
		run:         search,
	},
	{
		name: "jobs", title: "List jobs",
		description: "Lists the scheduled jobs with their next time and last outcome.",
		run:         jobs,
	},
}

// send is the tool that writes.
var send = tool{
	name: "send", title: "Write into a conversation",
	description: "Writes a message into a conversation as the person whom you act for, and waits for the assistant's answer, which the people there read, too.",
	properties:  propConversation + `, "text": {"type": "string", "description": "The message."}`,
	required:    []string{"conversation", "text"},
	writes:      true,
	run:         sendMessage,
}

// conversation is one in a list.
type conversation struct {
	Key      channels.Key `json:"conversation"`
	Title    string       `json:"title,omitempty"`
	Updated  time.Time    `json:"updated,omitzero"`
	Messages int          `json:"messages"`
}

// message is one of a conversation.
type message struct {
	Key     channels.Key `json:"conversation,omitzero"` // in what a search found
	At      time.Time    `json:"at"`
	Role    string       `json:"role"`
	Name    string       `json:"name,omitempty"`
	Content string       `json:"content"`
}

// result is what a tool that lists returns.
type result struct {
	Items any `json:"items"`
	// Next is for after, or before, of the next call. "": there is no more.
	Next string `json:"next,omitempty"`
}

func conversations(ctx context.Context, c *api.Client, a *arguments) (any, error) {
	page, err := api.Find.Call(ctx, c, api.ConversationQuery{Text: a.Text, Channel: a.Channel, After: a.After, Limit: a.page()})
	if err != nil {
		return nil, err
	}
	list := make([]conversation, 0, len(page.Data))
	for _, one := range page.Data {
		list = append(list, conversation{one.Key, one.Name(), one.Updated, one.MessageCount})
	}
	return result{list, page.Next}, nil
}

func readMessages(ctx context.Context, c *api.Client, a *arguments) (any, error) {
	k, err := a.key(true)
	if err != nil {
		return nil, err
	}
	page, err := api.ReadMessages.Call(ctx, c, api.Part{Key: k, Before: a.Before, Limit: a.page()})
	if err != nil {
		return nil, err
	}
	list := make([]message, 0, len(page.Data))
	for i := range page.Data {
		list = append(list, short(&page.Data[i]))
	}
	return result{list, page.Next}, nil
}

func search(ctx context.Context, c *api.Client, a *arguments) (any, error) {
	k, err := a.key(false)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(a.Query) == "" {
		return nil, errors.New("query names no words")
	}
	page, err := api.SearchAll.Call(ctx, c, api.Search{Query: a.Query, Key: k, After: a.After, Limit: a.page()})
	if err != nil {
		return nil, err
	}
	list := make([]message, 0, len(page.Data))
	for i := range page.Data {
		m := short(&page.Data[i].Message)
		m.Key = page.Data[i].Key
		list = append(list, m)
	}
	return result{list, page.Next}, nil
}

func jobs(ctx context.Context, c *api.Client, _ *arguments) (any, error) {
	page, err := api.ListJobs.Call(ctx, c, api.JobQuery{})
	for i := range page.Data {
		page.Data[i].Upcoming = nil // the schedule says as much in fewer words
	}
	return result{page.Data, page.Next}, err
}

func sendMessage(ctx context.Context, c *api.Client, a *arguments) (any, error) {
	k, err := a.key(true)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(a.Text) == "" {
		return nil, errors.New("text is empty")
	}
	return api.PutQuestion.Call(ctx, c, api.Question{Key: k, Text: a.Text})
}

// short is a message as another agent reads it.
func short(m *api.Message) message {
	content := m.Content
	if len(content) > maxContent {
		cut := maxContent
		for !utf8.RuneStart(content[cut]) {
			cut--
		}
		content = content[:cut] + fmt.Sprintf(" … (%d more bytes)", len(m.Content)-cut)
	}
	return message{At: m.At, Role: string(m.Role), Name: m.Name, Content: content}
}

// list is the answer to tools/list.
func (s *Server) list(modern bool) map[string]any {
	all := make([]map[string]any, 0, len(s.tools))
	for _, t := range s.tools {
		required := ""
		if len(t.required) > 0 {
			required = `, "required": ["` + strings.Join(t.required, `", "`) + `"]`
		}
		all = append(all, map[string]any{
			"name": t.name, "title": t.title, "description": t.description,
			"inputSchema": json.RawMessage(`{"type": "object", "properties": {` + t.properties + `}` + required + `}`),
			"annotations": map[string]any{"readOnlyHint": !t.writes, "destructiveHint": false, "openWorldHint": t.writes},
		})
	}
	list := map[string]any{"tools": all}
	if modern {
		s.complete(list)
		list["ttlMs"], list["cacheScope"] = 0, "public"
	}
	return list
}

// use is the answer to tools/call.
func (s *Server) use(ctx context.Context, r *request, modern bool) (map[string]any, error) {
	for _, t := range s.tools {
		if t.name != r.Params.Name {
			continue
		}
		answer := resultOf(s.run(ctx, &t, r.Params.Arguments))
		if modern {
			s.complete(answer)
		}
		return answer, nil
	}
	return nil, &rpcError{Code: codeParams, Message: "There is no tool " + r.Params.Name + " here."}
}

// run calls a tool. Arguments of null are none: some clients send that.
func (s *Server) run(ctx context.Context, t *tool, raw json.RawMessage) (any, error) {
	var a arguments
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, errors.New("the arguments do not fit the schema of the tool " + t.name)
		}
	}
	return t.run(ctx, s.opts.Client, &a)
}

// resultOf is what a tool returns, as text and as a structure; or its error, as text for
// the model.
func resultOf(got any, err error) map[string]any {
	var text []byte
	if err == nil {
		text, err = marshal(got)
	}
	if err != nil {
		said := plain.Text(err)
		if no, ok := errors.AsType[*respond.Refusal](err); ok {
			said = no.Sentence
		}
		return map[string]any{"content": []any{content(said)}, "isError": true}
	}
	return map[string]any{"content": []any{content(string(text))}, "structuredContent": json.RawMessage(text)}
}

func content(text string) map[string]string { return map[string]string{"type": "text", "text": text} }

// marshal is JSON that leaves <, > and & as they are: a model reads it.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dragoman/internal/respond"
	"dragoman/sessions"
)

// item is a message of a conversation, as its items have it.
type item struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// inputText is a part of what a person said.
type inputText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// itemPage is a part of the items of a conversation.
type itemPage struct {
	Object string  `json:"object"`
	Data   []item  `json:"data"`
	First  *string `json:"first_id"`
	Last   *string `json:"last_id"`
	More   bool    `json:"has_more"`
}

const (
	defaultItems = 20
	maxItems     = 100
	// itemsRead is how many messages are read at a time: not each is an item.
	itemsRead = 200
)

// itemOf is a message as an item. Only what a person or a model said is one: tools and
// their results are ours, as in a response.
func itemOf(c *conversation, m *sessions.Message) (one item, shown bool) {
	text := strings.TrimSpace(m.Content)
	if m.Synthetic || text == "" || m.Role != sessions.RoleUser && m.Role != sessions.RoleAssistant {
		return one, false
	}
	one = item{ID: itemID(c, m.Seq), Type: "message", Status: "completed", Role: string(m.Role), Content: []any{inputText{"input_text", text}}}
	if m.Role == sessions.RoleAssistant {
		one.Content[0] = textPart(text)
	}
	return one, true
}

// itemID is the id of the message with that number.
func itemID(c *conversation, seq int64) string {
	return messagePrefix + strings.TrimPrefix(c.ID, convPrefix) + "_" + strconv.FormatInt(seq, 10)
}

// seqOf is the number of the message that an id names; 0: of none in c.
func seqOf(c *conversation, id string) int64 {
	_, number, _ := strings.Cut(id, "_")
	_, number, _ = strings.Cut(number, "_")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 1 || itemID(c, seq) != id {
		return 0
	}
	return seq
}

// itemQuery is which items are wanted.
type itemQuery struct {
	limit  int
	oldest bool  // the oldest first
	after  int64 // the number of the message that the page follows; 0: none
}

// readItemQuery reads the query of a request for items.
func readItemQuery(c *conversation, values url.Values) (q itemQuery, err error) {
	wrong := func(param, sentence string) error {
		return &respond.Refusal{Status: http.StatusBadRequest, Param: param, Sentence: sentence}
	}
	q.limit = defaultItems
	if text := values.Get("limit"); text != "" {
		q.limit, err = strconv.Atoi(text)
		if err != nil || q.limit < 1 || q.limit > maxItems {
			return q, wrong("limit", fmt.Sprintf("limit must be from 1 to %d.", maxItems))
		}
	}
	switch values.Get("order") {
	case "", "desc":
	case "asc":
		q.oldest = true
	default:
		return q, wrong("order", "order must be asc or desc.")
	}
	if id := values.Get("after"); id != "" {
		q.after = seqOf(c, id)
		if q.after == 0 {
			return q, wrong("after", "after names no item of this conversation.")
		}
	}
	return q, nil
}

// listItems answers GET /v1/conversations/{id}/items.
func (s *server) listItems(w http.ResponseWriter, r *http.Request) error {
	c, room, err := s.named(r)
	if err != nil {
		return err
	}
	q, err := readItemQuery(&c, r.URL.Query())
	if err != nil {
		return err
	}
	page, err := s.items(r.Context(), &c, room, q)
	if err != nil {
		return s.unavailable(err)
	}
	respond.JSON(w, http.StatusOK, page)
	return nil
}

// items reads a page of them.
func (s *server) items(ctx context.Context, c *conversation, room Room, q itemQuery) (itemPage, error) {
	page := itemPage{Object: "list", Data: []item{}}
	part := Part{Before: q.after, Most: itemsRead}
	if q.oldest {
		part = Part{After: q.after, Most: itemsRead, Oldest: true}
	}
	for {
		msgs, err := s.Rooms.Transcript(ctx, room.Key, part)
		if err != nil || len(msgs) == 0 {
			return page, err
		}
		if q.oldest {
			part.After = msgs[len(msgs)-1].Seq
		} else {
			part.Before = msgs[0].Seq
			slices.Reverse(msgs)
		}
		for i := range msgs {
			one, shown := itemOf(c, &msgs[i])
			switch {
			case !shown:
			case len(page.Data) == q.limit:
				page.More = true
				return page, nil
			default:
				page.add(one)
			}
		}
	}
}

func (p *itemPage) add(one item) {
	p.Data = append(p.Data, one)
	if p.First == nil {
		p.First = &one.ID
	}
	p.Last = &one.ID
}

// showItem answers GET /v1/conversations/{id}/items/{item}.
func (s *server) showItem(w http.ResponseWriter, r *http.Request) error {
	c, room, err := s.named(r)
	if err != nil {
		return err
	}
	seq := seqOf(&c, r.PathValue("item"))
	if seq == 0 {
		return respond.ErrNothing
	}
	msgs, err := s.Rooms.Transcript(r.Context(), room.Key, Part{After: seq - 1, Before: seq + 1, Most: 1})
	if err != nil {
		return s.unavailable(err)
	}
	for i := range msgs {
		if one, shown := itemOf(&c, &msgs[i]); shown {
			respond.JSON(w, http.StatusOK, one)
			return nil
		}
	}
	return respond.ErrNothing
}

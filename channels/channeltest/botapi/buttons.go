package botapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// mostData is how many bytes the data of a button may have.
const mostData = 64

// Keyboard are the buttons under a message, in rows.
type Keyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Button is one of them.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Buttons are the words on the buttons under m.
func (m Message) Buttons() []string {
	var words []string
	if m.Keyboard != nil {
		for _, row := range m.Keyboard.Rows {
			for _, b := range row {
				words = append(words, b.Text)
			}
		}
	}
	return words
}

// buttons reads reply_markup.
func buttons(p params) (*Keyboard, *answer) {
	var k Keyboard
	if !p.into("reply_markup", &k) || len(k.Rows) == 0 {
		return nil, nil
	}
	for _, row := range k.Rows {
		for _, b := range row {
			if b.Text == "" || b.Data == "" || len(b.Data) > mostData {
				no := badRequest("BUTTON_DATA_INVALID")
				return nil, &no
			}
		}
	}
	return &k, nil
}

func sameKeyboard(a, b *Keyboard) bool { return reflect.DeepEqual(a, b) }

func (s *Server) editMessageReplyMarkup(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _, missing := s.target(p)
	if missing != nil {
		return *missing
	}
	m := c.byID[p.int("message_id")]
	keyboard, wrong := buttons(p)
	switch {
	case m == nil:
		return badRequest("message to edit not found")
	case wrong != nil:
		return *wrong
	case sameKeyboard(m.Keyboard, keyboard):
		return badRequest("message is not modified")
	}
	m.Keyboard = keyboard
	s.announce()
	return answer{raw: encode(m, nil)}
}

// Press is what came of a press on a button.
type Press struct {
	ID       string // of the query
	UpdateID int64
	// Answered says that the bot answered it, with Text, which may be "".
	Answered bool
	Text     string
	raw      []byte
}

// Press makes p press the button with data text on message id. It returns the
// number of the press for Pressed, or -1 if there is no such button.
func (c *Chat) Press(p User, id int64, text string) int {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	m := c.byID[id]
	if m == nil || m.Keyboard == nil {
		return -1
	}
	for _, row := range m.Keyboard.Rows {
		for _, b := range row {
			if b.Text != text {
				continue
			}
			press := &Press{ID: strconv.Itoa(9000 + len(c.s.presses))}
			body, err := json.Marshal(map[string]any{
				"id": press.ID, "from": p, "message": json.RawMessage(encode(m, nil)), "chat_instance": "1", "data": b.Data,
			})
			if err != nil {
				panic("botapi: press: " + err.Error())
			}
			press.raw = body
			press.UpdateID = c.s.push("callback_query", body)
			c.s.presses = append(c.s.presses, press)
			return len(c.s.presses) - 1
		}
	}
	return -1
}

// PressAgain queues the update of an earlier press once more, under its own id,
// as the network does that never saw it confirmed.
func (s *Server) PressAgain(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	press := s.presses[n]
	raw := fmt.Appendf(nil, `{"update_id":%d,"callback_query":%s}`, press.UpdateID, press.raw)
	s.enqueue(update{press.UpdateID, raw})
}

// Pressed is what became of press n.
func (s *Server) Pressed(n int) Press {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.presses[n]
}

func (s *Server) answerCallbackQuery(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.presses, func(press *Press) bool { return press.ID == p.str("callback_query_id") })
	if at < 0 {
		return badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	if units(p.str("text")) > 200 {
		return badRequest("MESSAGE_TOO_LONG")
	}
	s.presses[at].Answered, s.presses[at].Text = true, p.str("text")
	s.announce()
	return answer{result: true}
}

// Promote makes p an administrator of every group.
func (s *Server) Promote(p User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admins == nil {
		s.admins = map[int64]bool{}
	}
	s.admins[p.ID] = true
}

func (s *Server) getChatMember(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, _, missing := s.target(p); missing != nil {
		return *missing
	}
	id := p.int("user_id")
	status := "member"
	if s.admins[id] {
		status = "administrator"
	}
	return answer{result: map[string]any{"status": status, "user": User{ID: id, FirstName: "?"}}}
}

// Block puts the bot out of the chat: a person blocks it, a group removes it.
func (c *Chat) Block(by User) { c.member(by, true) }

// Unblock lets the bot in again.
func (c *Chat) Unblock(by User) { c.member(by, false) }

func (c *Chat) member(by User, blocked bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.blocked = blocked
	before, after := "member", "kicked"
	if !blocked {
		before, after = after, before
	}
	as := func(status string) map[string]any {
		return map[string]any{"user": c.s.me(), "status": status, "until_date": 0}
	}
	body, err := json.Marshal(map[string]any{
		"chat": c.info, "from": by, "date": time.Now().Unix(), "old_chat_member": as(before), "new_chat_member": as(after),
	})
	if err != nil {
		panic("botapi: member: " + err.Error())
	}
	c.s.push("my_chat_member", body)
	c.s.announce()
}

// BlockSilently is Block without the update, as if it had been lost.
func (c *Chat) BlockSilently() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.blocked = true
}

func (c *Chat) blockedWords() string {
	if c.info.Type == "private" {
		return "bot was blocked by the user"
	}
	return "bot was kicked from the " + c.info.Type + " chat"
}

// Drafts are the drafts that the bot has shown in chat, in order.
func (s *Server) Drafts(chat int64) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chat]; c != nil {
		return slices.Clone(c.drafts)
	}
	return nil
}

func (s *Server) sendMessageDraft(_ *http.Request, p params) answer {
	text, _, no := parsed(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _, missing := s.target(p)
	switch {
	case missing != nil:
		return *missing
	case c.info.Type != "private":
		return badRequest("PEER_ID_INVALID")
	case p.int("draft_id") == 0:
		return badRequest("DRAFT_ID_INVALID")
	case no != nil:
		return *no
	}
	c.drafts = append(c.drafts, text)
	s.announce()
	return answer{result: true}
}

package botapi

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// control serves what another process needs to play the people, as JSON:
//
//	POST /control/say    {"chat":7,"name":"Ann","text":"hi","group":"","count":1}
//	GET  /control/shown?chat=7
//	GET  /control/stats
//	POST /control/fault  a [Fault]
//	POST /control/heal
//	POST /control/cut
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.Method + " " + r.URL.Path {
	case "POST /control/say":
		ids, err := s.controlSay(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(map[string]any{"ids": ids})
	case "GET /control/shown":
		chat, _ := strconv.ParseInt(r.URL.Query().Get("chat"), 10, 64)
		reply(s.Shown(chat))
	case "GET /control/stats":
		reply(s.stats())
	case "POST /control/fault":
		var f Fault
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.Break(f)
		reply(true)
	case "POST /control/heal":
		s.Heal()
		reply(true)
	case "POST /control/cut":
		reply(true)
		s.Cut()
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) controlSay(r *http.Request) ([]int64, error) {
	var in struct {
		Chat  int64  `json:"chat"`
		From  int64  `json:"from"`
		Name  string `json:"name"`
		Text  string `json:"text"`
		Group string `json:"group"` // title; empty: a private chat
		Count int    `json:"count"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	if in.From == 0 {
		in.From = in.Chat
	}
	if in.Name == "" {
		in.Name = "Person"
	}
	p := Person(in.From, in.Name)
	var c *Chat
	if in.Group != "" {
		c = s.Group(in.Chat, in.Group)
	} else {
		c = s.Private(p)
	}
	var ids []int64
	for range max(1, min(in.Count, 100_000)) {
		ids = append(ids, c.Say(p, in.Text))
	}
	return ids, nil
}

// Stats are counts of everything so far.
type Stats struct {
	Chats       int            `json:"chats"`
	Said        int            `json:"said"`
	FromBot     int            `json:"from_bot"`
	Unconfirmed int            `json:"unconfirmed"`
	Requests    int64          `json:"requests"`
	Calls       map[string]int `json:"calls"`
}

func (s *Server) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Chats: len(s.chats), Unconfirmed: len(s.queue), Requests: s.requests.Load(), Calls: map[string]int{}}
	for name, n := range s.counts {
		st.Calls[name] = n
	}
	for _, c := range s.chats {
		for _, m := range c.messages {
			if m.From != nil && m.From.ID == BotID {
				st.FromBot++
			} else {
				st.Said++
			}
		}
	}
	return st
}

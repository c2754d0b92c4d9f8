package botapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// update is one entry of the queue, as it will be sent.
type update struct {
	id  int64
	raw []byte
}

// unasked are the kinds of updates that come only if they were asked for.
var unasked = map[string]bool{"chat_member": true, "message_reaction": true, "message_reaction_count": true}

// Push queues an update of the given kind ("message", "edited_message", …)
// with the JSON of body and returns its id, or 0 if the bot does not want
// that kind.
func (s *Server) Push(kind string, body any) int64 {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("botapi: push: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(kind, raw)
}

// push is Push for one who holds the lock.
func (s *Server) push(kind string, raw []byte) int64 {
	if s.allowed != nil && !s.allowed[kind] || s.allowed == nil && unasked[kind] {
		return 0
	}
	s.lastID++
	id := s.lastID
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"update_id":%d,%q:`, id, kind)
	b.Write(raw)
	b.WriteByte('}')
	s.enqueue(update{id, b.Bytes()})
	return id
}

// PushRaw queues whatever make returns for the next update id: the way to
// make updates that no client can decode.
func (s *Server) PushRaw(make func(id int64) []byte) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	s.enqueue(update{s.lastID, make(s.lastID)})
	return s.lastID
}

func (s *Server) enqueue(u update) {
	s.queue = append(s.queue, u)
	s.rouse()
}

// rouse wakes waiting polls, or sends to the webhook. The caller holds the lock.
func (s *Server) rouse() {
	s.sendOut()
	close(s.wake)
	s.wake = make(chan struct{})
}

// Unconfirmed counts the updates that the bot has not confirmed.
func (s *Server) Unconfirmed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// ConfirmedTo is the highest update id that the bot has confirmed, or 0.
func (s *Server) ConfirmedTo() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.asked-1, 0)
}

func (s *Server) getUpdates(r *http.Request, p params) answer {
	s.mu.Lock()
	if s.hooked.hook != nil {
		s.mu.Unlock()
		return refuse(http.StatusConflict, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	s.poll++
	mine := s.poll
	s.rouse() // an older poll that waits is over
	s.confirm(p.int("offset"))
	s.allow(p)
	s.mu.Unlock()

	limit := int(p.int("limit"))
	if limit <= 0 || limit > 100 {
		limit = 100
	}
	timeout := time.NewTimer(time.Duration(min(p.int("timeout"), 50)) * time.Second)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		batch := s.batch(limit)
		wake := s.wake
		over := s.poll != mine
		s.mu.Unlock()
		switch {
		case over:
			if s.Webhook() != "" {
				return refuse(http.StatusConflict, "Conflict: terminated by setWebhook request")
			}
			return refuse(http.StatusConflict, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
		case batch != nil:
			return answer{raw: batch}
		}
		select {
		case <-wake:
		case <-timeout.C:
			return answer{raw: []byte("[]")}
		case <-r.Context().Done():
			return answer{raw: []byte("[]")}
		}
	}
}

// allow notes which kinds of updates the bot wants. The caller holds the lock.
func (s *Server) allow(p params) {
	var kinds []string
	if p.into("allowed_updates", &kinds) {
		s.allowed = nil
		if len(kinds) > 0 {
			s.allowed = map[string]bool{}
		}
		for _, k := range kinds {
			s.allowed[k] = true
		}
	}
}

// confirm forgets the updates below offset. A negative offset keeps only so
// many of the newest. The caller holds the lock.
func (s *Server) confirm(offset int64) {
	if offset < 0 {
		if keep := int(-offset); len(s.queue) > keep {
			s.queue = s.queue[len(s.queue)-keep:]
		}
		return
	}
	s.asked = max(s.asked, offset)
	n := 0
	for n < len(s.queue) && s.queue[n].id < offset {
		n++
	}
	s.queue = s.queue[n:]
	if n > 0 {
		s.announce()
	}
}

// batch is the JSON of at most limit updates, or nil if there are none. The
// caller holds the lock.
func (s *Server) batch(limit int) []byte {
	if len(s.queue) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i, u := range s.queue[:min(limit, len(s.queue))] {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(u.raw)
	}
	b.WriteByte(']')
	return b.Bytes()
}

package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// hook is where updates are sent instead of waiting for a poll.
type hook struct {
	url, secret string
	connections int
	foreign     bool // nothing is sent: see [Server.SetWebhook]
}

// hooked is what the server knows of its webhook. The server's lock protects it.
type hooked struct {
	hook     *hook          // nil: none is set
	busy     map[int64]bool // chats to which a goroutine sends
	failed   string         // why the newest call failed
	failedAt time.Time
	ended    bool // the server closes
}

const (
	callWithin    = 10 * time.Second
	firstHookWait = 20 * time.Millisecond
	mostHookWait  = time.Second // the network waits longer
)

// SetWebhook makes getUpdates answer 409 because of another program's webhook, or no
// more.
func (s *Server) SetWebhook(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooked.hook = nil
	if on {
		s.hooked.hook = &hook{url: "https://elsewhere.example/bot", foreign: true}
	}
}

// Webhook is the address of the webhook, or "".
func (s *Server) Webhook() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hooked.hook == nil {
		return ""
	}
	return s.hooked.hook.url
}

func (s *Server) setWebhook(r *http.Request, p params) answer {
	h := &hook{url: p.str("url"), secret: p.str("secret_token"), connections: int(p.int("max_connections"))}
	if h.url == "" {
		return s.deleteWebhook(r, p)
	}
	if u, err := url.Parse(h.url); err != nil || u.Host == "" {
		return badRequest("bad webhook: invalid URL")
	}
	if h.connections < 1 || h.connections > 100 {
		h.connections = 40
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allow(p)
	s.dropIfAsked(p)
	s.hooked.hook = h
	s.hooked.failed = ""
	s.hooked.failedAt = time.Time{}
	s.poll++ // a poll that waits is over
	s.rouse()
	return answer{result: true}
}

func (s *Server) deleteWebhook(_ *http.Request, p params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIfAsked(p)
	s.hooked.hook = nil
	return answer{result: true}
}

// dropIfAsked forgets what was not confirmed. The caller holds the lock.
func (s *Server) dropIfAsked(p params) {
	if p.str("drop_pending_updates") == "true" {
		s.queue = nil
	}
}

func (s *Server) getWebhookInfo(*http.Request, params) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(s.queue)}
	if h := s.hooked.hook; h != nil {
		info["url"] = h.url
		info["max_connections"] = h.connections
	}
	if s.hooked.failed != "" {
		info["last_error_date"] = s.hooked.failedAt.Unix()
		info["last_error_message"] = s.hooked.failed
	}
	return answer{result: info}
}

// sendOut starts a goroutine for each chat that has updates and none yet. As on the
// network, the updates of one chat are sent one after the other, and one that is not
// taken holds up those behind it. The caller holds the lock.
func (s *Server) sendOut() {
	h := s.hooked.hook
	if h == nil || h.foreign || s.hooked.ended {
		return
	}
	for _, u := range s.queue {
		if len(s.hooked.busy) >= h.connections {
			return
		}
		chat := u.chat()
		if s.hooked.busy[chat] {
			continue
		}
		s.hooked.busy[chat] = true
		s.handlers.Go(func() { s.sendChat(chat) })
	}
}

// sendChat sends the updates of one chat until there are no more.
func (s *Server) sendChat(chat int64) {
	wait := firstHookWait
	for {
		s.mu.Lock()
		h := s.hooked.hook
		at := slices.IndexFunc(s.queue, func(u update) bool { return u.chat() == chat })
		if h == nil || h.foreign || s.hooked.ended || at < 0 {
			delete(s.hooked.busy, chat)
			s.sendOut()
			s.mu.Unlock()
			return
		}
		u := s.queue[at]
		s.mu.Unlock()
		if s.callHook(h, u) {
			wait = firstHookWait
			continue
		}
		select {
		case <-time.After(wait):
		case <-s.served:
		}
		wait = min(2*wait, mostHookWait)
	}
}

// callHook sends one update, and forgets it if it was taken.
func (s *Server) callHook(h *hook, u update) bool {
	ctx, cancel := context.WithTimeout(s.life, callWithin)
	defer cancel()
	err := s.post(ctx, h, u)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.hooked.failed = err.Error()
		s.hooked.failedAt = time.Now()
		return false
	}
	s.queue = slices.DeleteFunc(slices.Clone(s.queue), func(other update) bool { return other.id == u.id })
	s.announce()
	return true
}

func (s *Server) post(ctx context.Context, h *hook, u update) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(u.raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := s.out.Do(req)
	if err != nil {
		return fmt.Errorf("connection failed: %s", strings.ReplaceAll(err.Error(), h.url, "the webhook"))
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("wrong response from the webhook: %s", resp.Status)
	}
	return nil
}

// chat is the chat of an update, or 0.
func (u update) chat() int64 {
	// body is where updates name their chat.
	type body struct {
		Chat    struct{ ID int64 }
		Message struct{ Chat struct{ ID int64 } }
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(u.raw, &fields) != nil {
		return 0
	}
	for _, field := range fields {
		var b body
		if json.Unmarshal(field, &b) != nil {
			continue
		}
		if b.Chat.ID != 0 || b.Message.Chat.ID != 0 {
			return b.Chat.ID + b.Message.Chat.ID
		}
	}
	return 0
}

package openai

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"dragoman/internal/respond"
)

// conversation is one that POST /v1/conversations made: a room of the page. It is stored
// with its first message.
type conversation struct {
	ID       string         `json:"id"`
	Object   string         `json:"object"`
	Created  int64          `json:"created_at"` // Unix seconds; they are a part of the id
	Metadata map[string]any `json:"metadata"`
}

const (
	convSeconds = 8  // hexadecimal digits of an id
	convRandom  = 20 // characters after them
)

func newConversation(seconds int64) conversation {
	id := fmt.Sprintf("%s%0*x%s", convPrefix, convSeconds, seconds, strings.ToLower(rand.Text()[:convRandom]))
	return conversation{ID: id, Object: "conversation", Created: seconds, Metadata: map[string]any{}}
}

// makeConversation answers POST /v1/conversations.
func (s *server) makeConversation(w http.ResponseWriter, r *http.Request) error {
	_, o, err := readBody(w, r)
	if err != nil {
		return err
	}
	if items := o.objects("items", maxMessages); len(items) > 0 {
		o.refuse("items", "A conversation begins empty here.")
	}
	c := newConversation(s.Now().Unix())
	o.take("metadata", &c.Metadata)
	if err := o.problem(); err != nil {
		return err
	}
	if _, err := s.Rooms.Room(r.Context(), caller(r), roomChannel+":"+c.ID); err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, c)
	return nil
}

// showConversation answers GET /v1/conversations/{id}.
func (s *server) showConversation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	rest, found := strings.CutPrefix(id, convPrefix)
	if !found || len(rest) != convSeconds+convRandom {
		return respond.ErrNothing
	}
	seconds, err := strconv.ParseInt(rest[:convSeconds], 16, 64)
	if err != nil {
		return respond.ErrNothing
	}
	if _, err := s.Rooms.Room(r.Context(), caller(r), roomChannel+":"+id); err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, conversation{ID: id, Object: "conversation", Created: seconds, Metadata: map[string]any{}})
	return nil
}

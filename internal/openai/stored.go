package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// A response that its client did not ask to forget is kept, so that another one can name
// it as the one before. It is a note of the person's and no conversation.
const (
	responseKind   = "response"
	responsePrefix = "resp_"
	messagePrefix  = "msg_" // of the id of a response's text; that of the response follows
	responseLife   = 30 * 24 * time.Hour
	// maxResponses is how many of them somebody may have; the oldest go.
	maxResponses = 200
	// maxChain is how many responses may follow one another.
	maxChain = 200
	// placeBefore is where in a request the messages of earlier responses are.
	placeBefore = "previous_response_id"
)

// stored is a response in its note. On disk: it only gains fields.
type stored struct {
	Answer outcome `json:"answer"`
	Model  string  `json:"model"`
	// Previous is the id of the one before.
	Previous string `json:"previous,omitempty"`
	// Messages are those of its request, and what its turn added.
	Messages []sessions.Message `json:"messages,omitempty"`
	// Room is the conversation that it was said in, and Turn the turn there.
	Room string `json:"room,omitempty"`
	Turn string `json:"turn,omitempty"`
	// Lost: the messages are too large to be kept.
	Lost bool `json:"lost,omitempty"`
}

// store keeps a response.
func (s *server) store(ctx context.Context, owner string, one stored) error {
	for i := range one.Messages {
		one.Messages[i].Attachments = nil // the files are the client's
	}
	data, err := json.Marshal(one)
	if err == nil && len(data) > keptBytes {
		one.Messages = nil
		one.Lost = true
		data, err = json.Marshal(one)
	}
	if err != nil {
		return fmt.Errorf("openai: keep a response: %w", err)
	}
	if len(data) > keptBytes {
		return nil // even its text: nothing can be read later
	}
	n := sessions.Note{Name: responsePrefix + one.Answer.ID, Due: s.Now().Add(responseLife), Data: data}
	return s.put(ctx, responseKind, owner, maxResponses, n)
}

// find reads a response of a person's.
func (s *server) find(ctx context.Context, owner, id string) (one stored, err error) {
	none := &respond.Refusal{
		Status: http.StatusNotFound, Code: "previous_response_not_found", Param: "previous_response_id",
		Sentence: "There is no response of this id, or it is too old.",
	}
	if id == "" || len(id) > sessions.MaxNoteName {
		return one, none
	}
	notes, err := s.Store.Notes(ctx, sessions.NoteFilter{Kind: responseKind, Owner: owner, Name: id})
	if err != nil {
		return one, s.unavailable(err)
	}
	if len(notes) == 0 || !s.Now().Before(notes[0].Due) {
		return one, none
	}
	if err := json.Unmarshal(notes[0].Data, &one); err != nil {
		return one, fmt.Errorf("openai: read a response: %w", err)
	}
	return one, nil
}

// follow puts what was said in earlier responses before the messages of a request, or
// finds the conversation in which they were said.
func (a *responsesRequest) follow(ctx context.Context, who people.Principal) error {
	var parts [][]sessions.Message
	for id, n := a.previous, 0; id != ""; n++ {
		one, err := a.find(id)
		switch {
		case err != nil:
			return err
		case one.Lost, n >= maxChain:
			return &respond.Refusal{
				Status: http.StatusUnprocessableEntity, Code: "not_kept", Param: "previous_response_id", NoRepeat: true,
				Sentence: "What was said before this response is too large to be kept. Send it as input.",
			}
		case one.Room != "":
			a.room = one.Room
			return a.isNewest(ctx, who, &one)
		}
		parts = append(parts, one.Messages)
		id = one.Previous
	}
	for _, part := range slices.Backward(parts) {
		for _, m := range part {
			a.add(placeBefore, m)
		}
	}
	a.own = len(a.messages)
	return nil
}

// isNewest refuses to go on from a response after which more was said in its conversation.
func (a *responsesRequest) isNewest(ctx context.Context, who people.Principal, one *stored) error {
	room, err := a.s.room(ctx, who, one.Room)
	if err != nil {
		return err
	}
	said, err := a.s.Rooms.Transcript(ctx, room.Key, Part{Most: 1})
	if err != nil {
		return a.s.unavailable(err)
	}
	if n := len(said); n > 0 && said[n-1].Turn == one.Turn {
		return nil
	}
	return &respond.Refusal{
		Status: http.StatusUnprocessableEntity, Code: "not_newest", Param: "previous_response_id", NoRepeat: true,
		Sentence: "More was said in this conversation since that response. Name the newest one, or the conversation.",
	}
}

// showResponse answers GET /v1/responses/{id}.
func (s *server) showResponse(w http.ResponseWriter, r *http.Request) error {
	one, err := s.find(r.Context(), caller(r).ID, r.PathValue("id"))
	if err != nil {
		return err
	}
	e := echo{Parallel: true, Metadata: json.RawMessage("{}"), Choice: json.RawMessage(`"auto"`), Tools: json.RawMessage("[]")}
	if one.Previous != "" {
		e.Previous = &one.Previous
	}
	respond.JSON(w, http.StatusOK, responseOf(one.Model, e, true, &one.Answer))
	return nil
}

// deleteResponse answers DELETE /v1/responses/{id}.
func (s *server) deleteResponse(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := s.find(r.Context(), caller(r).ID, id); err != nil {
		return err
	}
	err := s.Store.ChangeNotes(r.Context(), responseKind, caller(r).ID, func([]sessions.Note) ([]sessions.Note, []string, error) {
		return nil, []string{id}, nil
	})
	if err != nil {
		return s.unavailable(err)
	}
	respond.JSON(w, http.StatusOK, map[string]any{"id": id, "object": "response", "deleted": true})
	return nil
}

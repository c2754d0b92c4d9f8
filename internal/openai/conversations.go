package openai

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// conversation is one that POST /v1/conversations made: a room of the page. It is stored
// with its first message, or with the metadata that its client gave it.
type conversation struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  int64             `json:"created_at"` // Unix seconds; they are a part of the id
	Metadata map[string]string `json:"metadata"`
}

const (
	convSeconds = 8  // hexadecimal digits of an id
	convRandom  = 12 // characters after them
	convOwner   = 8  // characters at its end, by which it is one of its person
)

// What a conversation's metadata has of this API.
const (
	// ClosedName is when its client deleted it. Whoever takes it out opens it again.
	ClosedName = "openai_closed"
	// MetadataName are the client's words about it.
	MetadataName = "openai_metadata"
)

// The limits of metadata are OpenAI's.
const (
	maxMetadata      = 16
	maxMetadataName  = 64
	maxMetadataValue = 512
)

func newConversation(who people.Principal, seconds int64) conversation {
	id := fmt.Sprintf("%s%0*x%s", convPrefix, convSeconds, seconds, strings.ToLower(rand.Text()[:convRandom]))
	id += ownerOf(who, id)
	return conversation{ID: id, Object: "conversation", Created: seconds, Metadata: map[string]string{}}
}

// ownerOf is the end of the id of a conversation that who made. It keeps nobody out of
// anything: rooms do that. Without it the id of somebody else's conversation, or a
// mistyped one, would be that of an empty one of who's own.
func ownerOf(who people.Principal, begin string) string {
	sum := sha256.Sum256([]byte(who.ID + "\x00" + begin))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:convOwner])
}

// isMade reports whether POST /v1/conversations gave id to who.
func isMade(who people.Principal, id string) bool {
	end := len(id) - convOwner
	return len(id) == len(convPrefix)+convSeconds+convRandom+convOwner && id[end:] == ownerOf(who, id[:end])
}

// room finds the conversation of that name, unless its client has deleted it.
func (s *server) room(ctx context.Context, who people.Principal, name string) (Room, error) {
	id, isID := strings.CutPrefix(name, roomChannel+":")
	if isID && strings.HasPrefix(id, convPrefix) && !isMade(who, id) {
		return Room{}, &respond.Refusal{Status: http.StatusNotFound, Param: "conversation", Sentence: "You have no such conversation. POST /v1/conversations makes one."}
	}
	room, err := s.Rooms.Room(ctx, who, name)
	if err != nil {
		return room, err
	}
	if _, closed := room.Settings.Metadata[ClosedName]; closed {
		return room, &respond.Refusal{Status: http.StatusNotFound, Sentence: "This conversation was deleted."}
	}
	return room, nil
}

// named finds the conversation that the path of a request names.
func (s *server) named(r *http.Request) (c conversation, room Room, err error) {
	c = conversation{ID: r.PathValue("id"), Object: "conversation", Metadata: map[string]string{}}
	if !strings.HasPrefix(c.ID, convPrefix) || !isMade(caller(r), c.ID) {
		return c, room, respond.ErrNothing
	}
	c.Created, err = strconv.ParseInt(c.ID[len(convPrefix):][:convSeconds], 16, 64)
	if err != nil {
		return c, room, respond.ErrNothing
	}
	room, err = s.room(r.Context(), caller(r), roomChannel+":"+c.ID)
	if err != nil {
		return c, room, err
	}
	_ = json.Unmarshal(room.Settings.Metadata[MetadataName], &c.Metadata) // what others have written there is none
	return c, room, nil
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
	c := newConversation(caller(r), s.Now().Unix())
	o.take("metadata", &c.Metadata)
	checkMetadata(o, c.Metadata)
	if err := o.problem(); err != nil {
		return err
	}
	room, err := s.room(r.Context(), caller(r), roomChannel+":"+c.ID)
	if err != nil {
		return err
	}
	if len(c.Metadata) > 0 {
		if err := s.describe(r.Context(), room, MetadataName, c.Metadata); err != nil {
			return err
		}
	}
	respond.JSON(w, http.StatusOK, c)
	return nil
}

// checkMetadata refuses what OpenAI would refuse.
func checkMetadata(o *object, metadata map[string]string) {
	if len(metadata) > maxMetadata {
		o.refuse("metadata", fmt.Sprintf("metadata may have %d entries.", maxMetadata))
	}
	for name, value := range metadata {
		if len(name) > maxMetadataName || len(value) > maxMetadataValue {
			o.refuse("metadata", fmt.Sprintf("A name in metadata may have %d bytes, and a value %d.", maxMetadataName, maxMetadataValue))
		}
	}
}

// describe notes something about a conversation.
func (s *server) describe(ctx context.Context, room Room, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("openai: describe %s: %w", room.Key, err)
	}
	err = s.Rooms.Configure(ctx, room.Key, func(set *sessions.Settings) error {
		all := map[string]json.RawMessage{}
		maps.Copy(all, set.Metadata)
		all[name] = data
		set.Metadata = all
		return nil
	})
	if err != nil {
		return s.unavailable(err)
	}
	return nil
}

// showConversation answers GET /v1/conversations/{id}.
func (s *server) showConversation(w http.ResponseWriter, r *http.Request) error {
	c, _, err := s.named(r)
	if err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, c)
	return nil
}

// closeConversation answers DELETE /v1/conversations/{id}: no request finds it any more,
// and what was said in it is kept. A client that cleans up after itself must not destroy
// what somebody has said, and its token may have no right to that.
func (s *server) closeConversation(w http.ResponseWriter, r *http.Request) error {
	c, room, err := s.named(r)
	if err != nil {
		return err
	}
	if err := s.describe(r.Context(), room, ClosedName, s.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	respond.JSON(w, http.StatusOK, map[string]any{"id": c.ID, "object": "conversation.deleted", "deleted": true})
	return nil
}

package people

import (
	"context"
	"errors"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// Facts stores what is remembered beyond any conversation, by scope. The store is one.
type Facts interface {
	Remember(ctx context.Context, scope string, n sessions.NewFact) (sessions.Kept, error)
	Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error)
	UseFacts(ctx context.Context, scope string, ids ...int64) error
	Corrections
}

// Corrections change what is remembered.
type Corrections interface {
	Forget(ctx context.Context, scope string, id int64) error
	PinFact(ctx context.Context, scope string, id int64, pinned bool) error
	UndoFacts(ctx context.Context, scope string) (sessions.UndoneFacts, error)
}

// Memory is the facts, with the rule whose they are.
type Memory struct{ Facts }

// Scope returns the scope of the memory that is meant in k by who. about says whose: "me"
// is the person's, "chat" the chat's, "" the default. The error is a sentence for a model.
//
// The default is the person's memory in a private chat, and the chat's in a shared one. A
// person's memory cannot be reached in a shared chat: everyone there reads the answer, and
// the last speaker may not be the one who asked. The chat's memory can be chosen anywhere,
// because it belongs to this chat alone.
func (Memory) Scope(k channels.Key, who channels.Person, private bool, about string) (string, error) {
	if k.IsZero() {
		return "", errors.New("there is no memory outside of a conversation")
	}
	person := sessions.PersonScope(k.Channel(), who.ID())
	chat := sessions.ChatScope(k)
	switch about {
	case "":
		if private && who.ID() != "" {
			return person, nil
		}
		return chat, nil
	case "chat":
		return chat, nil
	case "me":
		switch {
		case !private:
			return "", errors.New(`several people share this chat, so only "chat" is possible here; what is about one person can be remembered and recalled in a private chat with them`)
		case who.ID() == "":
			return "", errors.New(`the network does not vouch for who this person is, so only "chat" is possible here`)
		}
		return person, nil
	}
	return "", fmt.Errorf(`"about" must be "me" or "chat", not %.40q`, about)
}

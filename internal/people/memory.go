package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// Facts stores what is remembered beyond any conversation, by scope. The store is one.
type Facts interface {
	Remember(ctx context.Context, scope string, n sessions.NewFact) (sessions.Kept, error)
	RecallOf(ctx context.Context, scopes []string, query string, limit int) ([]sessions.FactRecord, error)
	UseFacts(ctx context.Context, scope string, ids ...int64) error
	Forget(ctx context.Context, scope string, id int64) error
	PinFact(ctx context.Context, scope string, id int64, pinned bool) error
	UndoFacts(ctx context.Context, scope string, beside ...string) (sessions.UndoneFacts, error)
}

// Corrections change what is remembered.
type Corrections interface {
	Forget(ctx context.Context, scope string, id int64) error
	PinFact(ctx context.Context, scope string, id int64, pinned bool) error
	UndoFacts(ctx context.Context, scope string) (sessions.UndoneFacts, error)
}

// Memory is the facts, with the rule whose they are. What one person said on several networks
// is one memory; each fact stays in the scope in which it was said.
type Memory struct {
	Facts
	// People says who is one person. Nil: each identity is one.
	People *Directory
}

// personScope begins the scope of a person's memory. Their identity follows.
const personScope = "person:"

// scopes are those of the person whose memory scope is, which comes first, of the same
// persona.
func (m Memory) scopes(ctx context.Context, scope string) ([]string, error) {
	shared := sessions.SharedScope(scope)
	persona := strings.TrimSuffix(scope, shared)
	identity, is := strings.CutPrefix(shared, personScope)
	if m.People == nil || !is {
		return []string{scope}, nil
	}
	together, err := m.People.Together(ctx, identity)
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, len(together))
	for _, one := range together {
		list = append(list, persona+personScope+one)
	}
	return list, nil
}

// Remember stores a fact in scope. It may replace what the person said on other networks.
func (m Memory) Remember(ctx context.Context, scope string, n sessions.NewFact) (sessions.Kept, error) {
	scopes, err := m.scopes(ctx, scope)
	if err != nil {
		return sessions.Kept{}, err
	}
	n.Beside = scopes[1:]
	return m.Facts.Remember(ctx, scope, n)
}

// Recall finds facts of the person or chat of scope by words, best first; an empty query lists
// the newest. From of what was said on another network is never zero.
func (m Memory) Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error) {
	scopes, err := m.scopes(ctx, scope)
	if err != nil {
		return nil, err
	}
	found, err := m.RecallOf(ctx, scopes, query, limit)
	list := make([]sessions.Fact, 0, len(found))
	for _, f := range found {
		if f.From.IsZero() && f.Scope != scope {
			f.From, _ = channels.ParseKey(strings.TrimPrefix(sessions.SharedScope(f.Scope), personScope)) // else it is not known
		}
		list = append(list, f.Fact)
	}
	return list, err
}

// UseFacts notes that a model was shown these facts.
func (m Memory) UseFacts(ctx context.Context, scope string, ids ...int64) error {
	scopes, err := m.scopes(ctx, scope)
	for _, one := range scopes {
		err = cmp.Or(err, m.Facts.UseFacts(ctx, one, ids...))
	}
	return err
}

// Forget takes a fact out of the memory, wherever the person said it.
func (m Memory) Forget(ctx context.Context, scope string, id int64) error {
	return m.find(ctx, scope, func(one string) error { return m.Facts.Forget(ctx, one, id) })
}

// PinFact pins a fact, or unpins it, wherever the person said it.
func (m Memory) PinFact(ctx context.Context, scope string, id int64, pinned bool) error {
	return m.find(ctx, scope, func(one string) error { return m.Facts.PinFact(ctx, one, id, pinned) })
}

// find calls do with the scopes of a person until one has what do looks for.
func (m Memory) find(ctx context.Context, scope string, do func(scope string) error) error {
	scopes, err := m.scopes(ctx, scope)
	if err != nil {
		return err
	}
	for _, one := range scopes {
		err = do(one)
		if !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
	}
	return err
}

// UndoFacts takes back the newest replacement or forgetting of the person, or of the chat.
func (m Memory) UndoFacts(ctx context.Context, scope string) (sessions.UndoneFacts, error) {
	scopes, err := m.scopes(ctx, scope)
	if err != nil {
		return sessions.UndoneFacts{}, err
	}
	return m.Facts.UndoFacts(ctx, scope, scopes[1:]...)
}

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

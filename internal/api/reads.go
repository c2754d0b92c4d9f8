package api

import (
	"context"
	"fmt"
	"net/http"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// Reads decides whose conversations somebody may read; people.Visibility is one. A scope
// never does that: a token with the scope admin does not open the private talks of others.
type Reads interface {
	// Of returns what who may see of k. It records nothing.
	Of(ctx context.Context, who people.Principal, k channels.Key) (people.Sight, error)
	// Mine returns the identities under which who wrote. Conversations in which none of
	// them did are not theirs.
	Mine(ctx context.Context, who people.Principal) ([]string, error)
	// Read is Of for somebody who is about to read k. Reading along is recorded first.
	Read(ctx context.Context, who people.Principal, k channels.Key) (people.Sight, error)
}

// onlyTheSocket are the Reads of a server without any.
type onlyTheSocket struct{}

func (onlyTheSocket) Of(_ context.Context, who people.Principal, _ channels.Key) (people.Sight, error) {
	return people.Sight{May: who.AtSocket()}, nil
}

func (onlyTheSocket) Mine(context.Context, people.Principal) ([]string, error) {
	return []string{}, nil
}

func (o onlyTheSocket) Read(ctx context.Context, who people.Principal, k channels.Key) (people.Sight, error) {
	return o.Of(ctx, who, k)
}

// read returns what the caller sees of k, which they are about to read. Whatever shows
// words of one conversation asks here. Errors: ErrNotFound if they may not: somebody
// else's conversation looks like none.
func (s *server) read(ctx context.Context, k channels.Key) (people.Sight, error) {
	sight, err := s.Reads.Read(ctx, caller(ctx), k)
	if err == nil && !sight.May {
		err = fmt.Errorf("api: read %s: %w", k, sessions.ErrNotFound)
	}
	return sight, err
}

// sight returns what the caller sees of k, one of several in a list. Nobody is told, so
// the words of others are left out. It records nothing: titles in a list are no reading.
func (s *server) sight(ctx context.Context, k channels.Key) (people.Sight, error) {
	who := caller(ctx)
	sight, err := s.Reads.Of(ctx, who, k)
	if sight.Along && !who.AtSocket() {
		sight = people.Sight{Group: sight.Group}
	}
	return sight, err
}

// jobs is the channel of the conversations that jobs have with themselves. Nobody writes
// there, so they have no owner.
const jobs = "heartbeat"

// own returns the caller's conversations with what they see of each. At the socket, which
// sees all, it is of no use.
func (s *server) own(ctx context.Context) (map[channels.Key]people.Sight, error) {
	mine, err := s.Reads.Mine(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	queries := []sessions.Query{{Owners: mine}}
	if caller(ctx).IsOperator() {
		queries = append(queries, sessions.Query{Channel: jobs})
	}
	own := make(map[channels.Key]people.Sight)
	for _, q := range queries {
		err := s.each(ctx, q, func(c sessions.Conversation) error {
			sight, err := s.sight(ctx, c.Key)
			if err == nil && sight.May {
				own[c.Key] = sight
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return own, nil
}

// each calls do with all conversations that q selects, until it returns an error.
func (s *server) each(ctx context.Context, q sessions.Query, do func(sessions.Conversation) error) error {
	q.Limit = sessions.MaxPage
	for {
		found, err := s.Store.Find(ctx, q)
		if err != nil {
			return err
		}
		for _, c := range found {
			err := do(c)
			if err != nil {
				return err
			}
		}
		if len(found) < q.Limit {
			return nil
		}
		place := found[len(found)-1].Position()
		q.After = &place
	}
}

// found is sight for what is shown of k because it was looked for elsewhere: in a search,
// in the queue. What the socket sees of others there is recorded, like any reading.
func (s *server) found(ctx context.Context, k channels.Key) (people.Sight, error) {
	sight, err := s.sight(ctx, k)
	if err != nil || !sight.May {
		return sight, err
	}
	return s.Reads.Read(ctx, caller(ctx), k)
}

// readAll is read for what cannot be shown in part, such as a copy.
func (s *server) readAll(ctx context.Context, k channels.Key) error {
	sight, err := s.read(ctx, k)
	if err == nil && hidesSome(sight) {
		err = fmt.Errorf("api: read all of %s: %w", k, sessions.ErrNotFound)
	}
	return err
}

// hidesSome reports whether somebody who sees this much came later than the conversation.
func hidesSome(sight people.Sight) bool { return sight.From > 1 }

// change is read for a change that concerns everybody in k. In a group, which one member
// does not speak for, it needs the scope operate.
func (s *server) change(ctx context.Context, k channels.Key) error {
	sight, err := s.read(ctx, k)
	if err != nil {
		return err
	}
	alone := sight.Own && sight.From == 0
	if !alone && !caller(ctx).May(people.Operate) {
		return &respond.Refusal{
			Status: http.StatusForbidden, Code: respond.CodeScope,
			Sentence: "This needs the scope " + string(people.Operate) + ", because the conversation is not yours alone.",
		}
	}
	return nil
}

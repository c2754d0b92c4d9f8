package oauth

import (
	"context"
	"fmt"
	"time"
)

// NeedsLogin is the error where a person must log in.
type NeedsLogin struct {
	Server string
	Why    string // the beginning of a sentence
}

func (n *NeedsLogin) Error() string {
	return fmt.Sprintf("%s: say dragoman mcp login %s", n.Why, n.Server)
}

func (l *Login) needed(why string) error { return &NeedsLogin{Server: l.Server, Why: why} }

// State is how a login is.
type State struct {
	// Why says that a person must log in; "" if nobody must.
	Why string
	// Until is when the token ends; zero: nobody says. It may be refreshed before.
	Until time.Time
	// Renews says that the token is refreshed without a person.
	Renews bool
}

// State asks the store, and no server.
func (l *Login) State(ctx context.Context) (State, error) {
	k, err := l.current(ctx)
	if err != nil {
		return State{}, err
	}
	if err := l.usable(k); err != nil {
		return State{Why: err.Error()}, nil
	}
	if k.Refresh == "" && !k.Until.IsZero() && !l.o.Now().Before(k.Until) {
		return State{Why: l.needed("the login has ended").Error()}, nil
	}
	return State{Until: k.Until, Renews: k.Refresh != ""}, nil
}

// Failure is why the last request had no token; nil if it had one.
func (l *Login) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

package console

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// The pages of several nodes tell each other about logins and logouts, so that a browser
// may use any of them. A node that starts copies the sessions of another. A node that
// missed a login asks for the token again.

// logins are changes of the sessions, as nodes send them to each other.
type logins struct {
	// Token is the sessionName of "", which shows that both nodes have the same token.
	// Sessions of another token are not valid.
	Token string               `json:"token"`
	All   bool                 `json:"all,omitempty"`   // Begun is the complete list
	Begun map[string]time.Time `json:"begun,omitempty"` // name of the session -> when it ends
	Ended []string             `json:"ended,omitempty"`
}

// Logins returns all sessions, for [Console.ReceiveLogins] on another node.
func (c *Console) Logins() ([]byte, error) {
	a := c.auth
	a.mu.Lock()
	defer a.mu.Unlock()
	return json.Marshal(logins{Token: a.sessionName(""), All: true, Begun: a.sessions})
}

// ReceiveLogins applies what another node with the same token has sent: see
// [Options.Broadcast]. A complete list replaces ours, because sessions may have ended that
// we still have.
func (c *Console) ReceiveLogins(received []byte) error {
	a := c.auth
	var l logins
	if err := json.Unmarshal(received, &l); err != nil || a.Token == "" || l.Token != a.sessionName("") {
		return err
	}
	a.apply(l)
	return nil
}

// changeEverywhere changes the sessions here and on other nodes.
func (a *auth) changeEverywhere(l logins) {
	a.apply(l)
	if a.Broadcast == nil {
		return
	}
	l.Token = a.sessionName("")
	encoded, err := json.Marshal(l)
	if err == nil {
		err = a.Broadcast(encoded)
	}
	if err != nil {
		a.Logger.Warn("other nodes did not learn of a login or logout on the web page", "err", err)
	}
}

// apply changes the sessions and saves them. If there are too many, the oldest end.
func (a *auth) apply(l logins) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.All {
		clear(a.sessions)
	}
	for _, name := range l.Ended {
		delete(a.sessions, name)
	}
	maps.Copy(a.sessions, l.Begun)
	maps.DeleteFunc(a.sessions, func(_ string, ends time.Time) bool { return !time.Now().Before(ends) })
	oldest := slices.SortedFunc(maps.Keys(a.sessions), func(x, y string) int { return a.sessions[x].Compare(a.sessions[y]) })
	for _, name := range oldest[:max(0, len(oldest)-maxSessions)] {
		delete(a.sessions, name)
	}
	a.save()
}

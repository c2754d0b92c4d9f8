package console

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// The pages of several nodes tell each other who has logged in and out, so that a
// browser need not stay with one of them. A node that starts takes over what
// another one knows; one that did not hear a login asks for the token again.

// logins are changes of the sessions of browsers, as nodes tell them to each other.
type logins struct {
	// Token is what the token makes of nothing: with another one no session is good.
	Token string               `json:"token"`
	All   bool                 `json:"all,omitempty"`   // Begun are all there are
	Begun map[string]time.Time `json:"begun,omitempty"` // name of the session -> when it ends
	Ended []string             `json:"ended,omitempty"`
}

// Logins are all sessions of browsers, for [Console.ReceiveLogins] on another node.
func (c *Console) Logins() ([]byte, error) {
	d := c.doors
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(logins{Token: d.name(""), All: true, Begun: d.sessions})
}

// ReceiveLogins takes what another node with the same token has told: see
// [Options.Broadcast]. All that it knows replace ours: it may know of more that have
// ended.
func (c *Console) ReceiveLogins(told []byte) error {
	d := c.doors
	var l logins
	if err := json.Unmarshal(told, &l); err != nil || len(d.key) == 0 || l.Token != d.name("") {
		return err
	}
	d.apply(l)
	return nil
}

// change changes the sessions here and on other nodes.
func (d *doors) change(l logins) {
	d.apply(l)
	if d.others == nil {
		return
	}
	l.Token = d.name("")
	told, err := json.Marshal(l)
	if err == nil {
		err = d.others(told)
	}
	if err != nil {
		d.log.Warn("other nodes do not know who has logged in or out on the web page", "err", err)
	}
}

// apply changes the sessions and keeps them. When there are too many the oldest
// end.
func (d *doors) apply(l logins) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.All {
		clear(d.sessions)
	}
	for _, name := range l.Ended {
		delete(d.sessions, name)
	}
	maps.Copy(d.sessions, l.Begun)
	maps.DeleteFunc(d.sessions, func(_ string, ends time.Time) bool { return !time.Now().Before(ends) })
	oldest := slices.SortedFunc(maps.Keys(d.sessions), func(a, b string) int { return d.sessions[a].Compare(d.sessions[b]) })
	for _, name := range oldest[:max(0, len(oldest)-maxSessions)] {
		delete(d.sessions, name)
	}
	d.save()
}

package console

import (
	"encoding/json"
	"maps"
	"time"
)

// The pages of several nodes tell each other who has logged in and out, so that a
// browser need not stay with one of them. A node that starts takes over what
// another one knows; one that did not hear a login asks for the token again.

// logins are sessions of browsers, as nodes tell them to each other.
type logins struct {
	// Token is what the token makes of nothing: with another one no session is good.
	Token string               `json:"token"`
	Begun map[string]time.Time `json:"begun,omitempty"` // name of the session -> when it ends
	Ended []string             `json:"ended,omitempty"`
}

// Logins are all sessions of browsers, for [Console.TakeLogins] on another node.
func (c *Console) Logins() ([]byte, error) {
	d := c.doors
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(logins{Token: d.name(""), Begun: d.sessions})
}

// TakeLogins replaces the sessions by those of another node, which may know of
// more that have ended.
func (c *Console) TakeLogins(told []byte) error {
	return c.doors.take(told, func(l logins, now map[string]time.Time) {
		clear(now)
		maps.Copy(now, l.Begun)
	})
}

// HearLogins takes what another node has told: see [Options.Others].
func (c *Console) HearLogins(told []byte) error {
	return c.doors.take(told, func(l logins, now map[string]time.Time) {
		for _, name := range l.Ended {
			delete(now, name)
		}
		maps.Copy(now, l.Begun)
	})
}

// take changes the sessions by what another node with the same token has told.
func (d *doors) take(told []byte, change func(l logins, now map[string]time.Time)) error {
	var l logins
	if err := json.Unmarshal(told, &l); err != nil || len(d.key) == 0 || l.Token != d.name("") {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	change(l, d.sessions)
	d.save()
	return nil
}

// tell tells other nodes of a session that has begun, or ended if its time is zero.
func (d *doors) tell(name string, ends time.Time) {
	if d.others == nil {
		return
	}
	l := logins{Token: d.name("")}
	if ends.IsZero() {
		l.Ended = []string{name}
	} else {
		l.Begun = map[string]time.Time{name: ends}
	}
	told, err := json.Marshal(l)
	if err == nil {
		err = d.others(told)
	}
	if err != nil {
		d.log.Warn("other nodes do not know who has logged in or out on the web page", "err", err)
	}
}

package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"dragoman/internal/people"
)

const (
	cookieName  = "dragoman_session"
	sessionLife = 30 * 24 * time.Hour
	maxSessions = 64
)

// session is one login. On disk and between nodes: it only gains fields.
type session struct {
	Ends    time.Time    `json:"ends"`
	Person  string       `json:"person"`
	Name    string       `json:"name,omitempty"`
	Scope   people.Scope `json:"scope"`
	Token   string       `json:"token,omitempty"`
	TokenID string       `json:"token_id,omitempty"`
	// SecretID: a rotation of the token ends what its old secret began.
	SecretID string `json:"secret_id,omitempty"`

	name string // under which it is stored
}

// principal is whose session it is.
func (s session) principal() people.Principal {
	return people.Principal{ID: s.Person, Name: s.Name, Scope: s.Scope, Token: s.Token, TokenID: s.TokenID, SecretID: s.SecretID}
}

// UnmarshalJSON also reads the form of earlier versions: only the end, because every
// session began with the configured token.
func (s *session) UnmarshalJSON(text []byte) error {
	var ends time.Time
	if err := json.Unmarshal(text, &ends); err == nil {
		*s = session{Ends: ends, Person: people.OperatorID, Name: people.OperatorID, Scope: people.Operate, Token: people.ConfiguredName}
		return nil
	}
	type plain session
	return json.Unmarshal(text, (*plain)(s))
}

// sessions are the logins of this node, which it shares with the others: a browser may
// use any of them. A node that starts copies the sessions of another. A node that missed
// a login asks for the token again.
type sessions struct {
	token     string
	file      string
	broadcast func([]byte) error
	log       *slog.Logger

	mu  sync.Mutex
	all map[string]session // by their names
}

// newSessions reads the sessions' file.
func newSessions(o Options) *sessions {
	s := &sessions{token: o.Token, file: o.SessionsFile, broadcast: o.Broadcast, log: o.Logger, all: map[string]session{}}
	s.load()
	return s
}

// nameOf derives the name under which a cookie's session is stored. It is keyed with the
// configured token, so a new one ends all sessions, and stored names cannot be used to
// log in.
func (s *sessions) nameOf(cookie string) string {
	h := hmac.New(sha256.New, []byte(s.token))
	h.Write([]byte(cookie))
	return hex.EncodeToString(h.Sum(nil))
}

// load reads the file. Without it, or if it is damaged, everybody logs in again.
func (s *sessions) load() {
	if s.file == "" {
		return
	}
	kept, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && len(kept) > 0 {
		err = json.Unmarshal(kept, &s.all)
	}
	if err != nil || s.all == nil {
		s.all = map[string]session{}
		s.log.Warn("the page's logins cannot be read; everybody must log in again", "err", err)
	}
}

// save replaces the file, without fsync: losing it only costs a login. The caller holds
// s.mu. If writing fails, the sessions last until the restart.
func (s *sessions) save() {
	if s.file == "" {
		return
	}
	text, err := json.Marshal(s.all)
	if err == nil {
		err = os.WriteFile(s.file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(s.file+".new", s.file)
	}
	if err != nil {
		s.log.Warn("the page's logins cannot be saved and will not survive a restart", "err", err)
	}
}

// begin begins a session of p. It returns the value for its cookie, which is random.
func (s *sessions) begin(p people.Principal) string {
	value := rand.Text()
	begun := session{Ends: time.Now().Add(sessionLife), Person: p.ID, Name: p.Name, Scope: p.Scope, Token: p.Token, TokenID: p.TokenID, SecretID: p.SecretID}
	s.changeEverywhere(logins{Begun: map[string]session{s.nameOf(value): begun}})
	return value
}

// find returns the session of the request's cookie.
func (s *sessions) find(r *http.Request) (session, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return session{}, false
	}
	name := s.nameOf(cookie.Value)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.all[name]
	found.name = name
	return found, ok && time.Now().Before(found.Ends)
}

// has reports whether the session of that name goes on.
func (s *sessions) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.all[name]
	return ok && time.Now().Before(found.Ends)
}

// end ends a session.
func (s *sessions) end(name string) {
	s.changeEverywhere(logins{Ended: []string{name}})
}

// logins are changes of the sessions, as nodes send them to each other.
type logins struct {
	// Token is nameOf(""), which shows that both nodes have the same configured token.
	// Sessions of another one are not valid.
	Token string             `json:"token"`
	All   bool               `json:"all,omitempty"`   // Begun is the complete list
	Begun map[string]session `json:"begun,omitempty"` // by their names
	Ended []string           `json:"ended,omitempty"`
}

// Logins returns all sessions, for [Door.ReceiveLogins] on another node.
func (d *Door) Logins() ([]byte, error) {
	s := d.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(logins{Token: s.nameOf(""), All: true, Begun: s.all})
}

// ReceiveLogins applies what another node with the same configured token has sent: see
// [Options.Broadcast]. A complete list replaces ours, because sessions may have ended
// that we still have.
func (d *Door) ReceiveLogins(received []byte) error {
	s := d.sessions
	var l logins
	if err := json.Unmarshal(received, &l); err != nil || l.Token != s.nameOf("") {
		return err
	}
	s.apply(l)
	return nil
}

// changeEverywhere changes the sessions of all nodes.
func (s *sessions) changeEverywhere(l logins) {
	s.apply(l)
	if s.broadcast == nil {
		return
	}
	l.Token = s.nameOf("")
	encoded, err := json.Marshal(l)
	if err == nil {
		err = s.broadcast(encoded)
	}
	if err != nil {
		s.log.Warn("other nodes did not learn of a login or logout on the web page", "err", err)
	}
}

// apply changes the sessions and saves them. If there are too many, the oldest end.
func (s *sessions) apply(l logins) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.All {
		clear(s.all)
	}
	for _, name := range l.Ended {
		delete(s.all, name)
	}
	maps.Copy(s.all, l.Begun)
	maps.DeleteFunc(s.all, func(_ string, one session) bool { return !time.Now().Before(one.Ends) })
	oldest := slices.SortedFunc(maps.Keys(s.all), func(x, y string) int { return s.all[x].Ends.Compare(s.all[y].Ends) })
	for _, name := range oldest[:max(0, len(oldest)-maxSessions)] {
		delete(s.all, name)
	}
	s.save()
}

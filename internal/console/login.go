package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/internal/respond"

	"golang.org/x/time/rate"
)

const (
	cookieName   = "dragoman_session"
	sessionLife  = 30 * 24 * time.Hour
	maxSessions  = 64
	maxLoginBody = 4 << 10
)

// auth checks the token and keeps the sessions of those who have logged in with it.
type auth struct {
	Options
	token   [32]byte // hashed, so that comparing takes the same time for every length
	guesses *rate.Limiter

	mu       sync.Mutex
	sessions map[string]time.Time // name of the session -> when it ends
}

func newAuth(o Options) *auth {
	a := &auth{
		Options: o, token: sha256.Sum256([]byte(o.Token)),
		sessions: map[string]time.Time{}, guesses: rate.NewLimiter(rate.Every(10*time.Second), 6),
	}
	a.load()
	return a
}

// sessionName derives the name under which a cookie's session is stored. It is keyed with
// the token, so a new token ends all sessions, and stored names cannot be used to log in.
func (a *auth) sessionName(cookie string) string {
	h := hmac.New(sha256.New, []byte(a.Token))
	h.Write([]byte(cookie))
	return hex.EncodeToString(h.Sum(nil))
}

func (a *auth) load() {
	if a.SessionsFile == "" || a.Token == "" {
		return
	}
	kept, err := os.ReadFile(a.SessionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && len(kept) > 0 {
		err = json.Unmarshal(kept, &a.sessions)
	}
	if err != nil || a.sessions == nil {
		a.sessions = map[string]time.Time{}
		a.Logger.Warn("the page's logins cannot be read; everybody must log in again", "err", err)
	}
}

// save replaces the file of the sessions, without fsync: losing it only costs a login.
// The caller holds a.mu. If writing fails, the sessions last until the restart.
func (a *auth) save() {
	if a.SessionsFile == "" {
		return
	}
	text, err := json.Marshal(a.sessions)
	if err == nil {
		err = os.WriteFile(a.SessionsFile+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(a.SessionsFile+".new", a.SessionsFile)
	}
	if err != nil {
		a.Logger.Warn("the page's logins cannot be saved and will not survive a restart", "err", err)
	}
}

// checkToken compares token with ours. The right token always passes; otherwise anyone who
// guesses could lock the owner out. Tokens have at least 16 characters, so the limit on
// guesses protects only the log and the processor.
func (a *auth) checkToken(token string, remote netip.Addr) error {
	given := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], a.token[:]) == 1 {
		return nil
	}
	if !a.guesses.Allow() {
		a.Failed(true)
		return errSlow
	}
	a.Failed(false)
	a.Logger.Warn("wrong token for the web page", "remote", remote)
	return errAuth
}

// logIn begins a session and returns the value for its cookie, which is random.
func (a *auth) logIn(now time.Time) string {
	value := rand.Text()
	a.changeEverywhere(logins{Begun: map[string]time.Time{a.sessionName(value): now.Add(sessionLife)}})
	return value
}

func (a *auth) loggedIn(cookie string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ends, found := a.sessions[a.sessionName(cookie)]
	return found && time.Now().Before(ends)
}

func (a *auth) logOut(cookie string) {
	a.changeEverywhere(logins{Ended: []string{a.sessionName(cookie)}})
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	if c.guard.open {
		toPage(w, r)
		return
	}
	c.loginPage(w, http.StatusOK, "")
}

// loginPage shows the form, with the problem of the last attempt. It does not use
// html/template, which calls methods by name: a linker that finds that keeps every unused
// method of the whole program.
func (c *Console) loginPage(w http.ResponseWriter, status int, problem string) {
	marks, alert := "", ""
	if problem != "" {
		marks = ` aria-describedby="problem" aria-invalid="true"`
		alert = `<p id="problem" class="problem" role="alert">` + html.EscapeString(problem) + `</p>`
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	respond.Private(w.Header())
	w.WriteHeader(status)
	// The browser notices a broken connection.
	_, _ = strings.NewReplacer("{{marks}}", marks, "{{alert}}", alert).WriteString(w, loginHTML)
}

// fromOurPage reports whether a page of ours sent the form. If not, it has answered the
// request.
func (c *Console) fromOurPage(w http.ResponseWriter, r *http.Request) bool {
	err := c.guard.checkSite(r)
	if err == nil && !hasProof(r) {
		err = errNoProof
	}
	if err != nil {
		deny(w, r, err)
	}
	return err == nil
}

// doLogin reads the token from the form's body, never from the URL.
func (c *Console) doLogin(w http.ResponseWriter, r *http.Request) {
	if !c.fromOurPage(w, r) {
		return
	}
	if c.guard.open {
		toPage(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if err := r.ParseForm(); err != nil {
		c.loginPage(w, http.StatusBadRequest, "That did not arrive completely. Try again.")
		return
	}
	switch err := c.auth.checkToken(r.PostForm.Get("token"), c.guard.client(r)); err {
	case nil:
	case errSlow:
		c.loginPage(w, http.StatusTooManyRequests, "Too many wrong tokens. Wait a minute.")
		return
	default:
		c.loginPage(w, http.StatusUnauthorized, "That is not the token.")
		return
	}
	c.setCookie(w, r, c.auth.logIn(time.Now()), int(sessionLife.Seconds()))
	toPage(w, r)
}

// toPage sends a browser to the page, in the room that it asked for. Nothing else
// of the request gets into the address, least of all a token.
func toPage(w http.ResponseWriter, r *http.Request) {
	page := url.URL{Path: "/"}
	if room := r.URL.Query().Get("room"); room != "" {
		page.RawQuery = url.Values{"room": {room}}.Encode()
	}
	http.Redirect(w, r, page.String(), http.StatusSeeOther)
}

func (c *Console) doLogout(w http.ResponseWriter, r *http.Request) {
	if !c.fromOurPage(w, r) {
		return
	}
	if cookie, err := r.Cookie(cookieName); err == nil {
		c.auth.logOut(cookie.Value)
	}
	c.setCookie(w, r, "", -1)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: c.guard.secure(r), SameSite: http.SameSiteStrictMode,
	})
}

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

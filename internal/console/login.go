package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"html"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	cookieName   = "dragoman_session"
	sessionLife  = 30 * 24 * time.Hour
	maxSessions  = 64
	maxLoginBody = 4 << 10
)

// doors knows the token, who has logged in with it, and who guesses.
type doors struct {
	token   [32]byte // its hash, so that comparing takes the same time for every length
	key     []byte   // the token itself, which the names of sessions are made with
	keep    SessionStore
	log     *slog.Logger
	failed  func(tooMany bool)
	guesses *rate.Limiter
	others  func(logins []byte) error // nil: there are no other nodes

	mu       sync.Mutex
	sessions map[string]time.Time // name of the session -> when it ends
}

// SessionStore keeps the sessions of browsers over a restart.
type SessionStore interface {
	// Load returns what Save was given last; nil if nothing was.
	Load() ([]byte, error)
	Save(sessions []byte) error
}

func newDoors(o Options) *doors {
	d := &doors{
		token: sha256.Sum256([]byte(o.Token)), key: []byte(o.Token), keep: o.Sessions, log: o.Logger, failed: o.Failed, others: o.Broadcast,
		sessions: map[string]time.Time{}, guesses: rate.NewLimiter(rate.Every(10*time.Second), 6),
	}
	d.load()
	return d
}

// name is what is remembered of a cookie's value. It is made with the token, so
// that a new token ends all sessions, and nobody can log in by what is kept.
func (d *doors) name(cookie string) string {
	h := hmac.New(sha256.New, d.key)
	h.Write([]byte(cookie))
	return hex.EncodeToString(h.Sum(nil))
}

func (d *doors) load() {
	if d.keep == nil || len(d.key) == 0 {
		return
	}
	kept, err := d.keep.Load()
	if err == nil && len(kept) > 0 {
		err = json.Unmarshal(kept, &d.sessions)
	}
	if err != nil || d.sessions == nil {
		d.sessions = map[string]time.Time{}
		d.log.Warn("the page's logins cannot be read; everybody must log in again", "err", err)
	}
}

// save needs d.mu. A session that is not kept holds until the restart.
func (d *doors) save() {
	if d.keep == nil {
		return
	}
	text, err := json.Marshal(d.sessions)
	if err == nil {
		err = d.keep.Save(text)
	}
	if err != nil {
		d.log.Warn("the page's logins cannot be saved and will not survive a restart", "err", err)
	}
}

// try compares token with ours. The right token always opens; otherwise anybody
// who guesses could lock the owner out. Tokens have at least 16 characters, so
// the limit on guesses protects only the log and the processor.
func (d *doors) try(token string, remote netip.Addr) error {
	given := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], d.token[:]) == 1 {
		return nil
	}
	if !d.guesses.Allow() {
		d.failed(true)
		return errSlow
	}
	d.failed(false)
	d.log.Warn("wrong token for the web page", "remote", remote)
	return errAuth
}

// enter begins a session and returns its cookie's value, which is random and
// says nothing about the token.
func (d *doors) enter(now time.Time) string {
	value := rand.Text()
	d.change(logins{Begun: map[string]time.Time{d.name(value): now.Add(sessionLife)}})
	return value
}

func (d *doors) known(cookie string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ends, found := d.sessions[d.name(cookie)]
	return found && time.Now().Before(ends)
}

func (d *doors) leave(cookie string) { d.change(logins{Ended: []string{d.name(cookie)}}) }

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	if c.guard.open {
		toPage(w, r)
		return
	}
	c.loginPage(w, http.StatusOK, "")
}

// loginPage shows the form, with what was wrong with the last one. It does
// without html/template, which calls methods by names from its templates: a
// linker that finds it leaves no unused method out of the whole program.
func (c *Console) loginPage(w http.ResponseWriter, status int, problem string) {
	marks, alert := "", ""
	if problem != "" {
		marks = ` aria-describedby="problem" aria-invalid="true"`
		alert = `<p id="problem" class="problem" role="alert">` + html.EscapeString(problem) + `</p>`
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A broken connection is the visitor's to notice.
	_, _ = strings.NewReplacer("{{marks}}", marks, "{{alert}}", alert).WriteString(w, loginHTML)
}

// fromOurPage reports whether a form was sent by a page of ours; if not, it has
// answered.
func (c *Console) fromOurPage(w http.ResponseWriter, r *http.Request) bool {
	err := c.guard.checkSite(r)
	if err == nil && !proven(r) {
		err = errWho
	}
	if err != nil {
		deny(w, r, err)
	}
	return err == nil
}

// doLogin takes the token from the form's body, never from the URL.
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
	switch err := c.doors.try(r.PostForm.Get("token"), c.guard.client(r)); err {
	case nil:
	case errSlow:
		c.loginPage(w, http.StatusTooManyRequests, "Too many wrong tokens. Wait a minute.")
		return
	default:
		c.loginPage(w, http.StatusUnauthorized, "That is not the token.")
		return
	}
	c.setCookie(w, r, c.doors.enter(time.Now()), int(sessionLife.Seconds()))
	toPage(w, r)
}

// toPage sends a browser to the page, and to the room that it asked for.
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
		c.doors.leave(cookie.Value)
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

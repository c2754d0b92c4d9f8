package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	cookieName  = "dragoman_session"
	sessionLife = 30 * 24 * time.Hour
	maxSessions = 64
	maxGuessers = 1024 // addresses whose guesses are counted one by one

	maxLoginBody = 4 << 10
)

// doors knows the token, who has logged in with it, and who guesses.
type doors struct {
	token [32]byte // its hash, so that comparing takes the same time for every length
	log   *slog.Logger

	mu       sync.Mutex
	sessions map[[32]byte]time.Time // hash of the cookie -> when it ends
	guessers map[netip.Addr]*rate.Limiter
	all      *rate.Limiter
}

func newDoors(token string, log *slog.Logger) *doors {
	return &doors{
		token: sha256.Sum256([]byte(token)), log: log,
		sessions: map[[32]byte]time.Time{}, guessers: map[netip.Addr]*rate.Limiter{},
		all: rate.NewLimiter(5, 50),
	}
}

// try compares token with ours. Whoever has guessed wrong too often is refused
// before anything is compared.
func (d *doors) try(token, remote string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.limiter(remote)
	if own.Tokens() < 1 || d.all.Tokens() < 1 {
		return errSlow
	}
	given := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], d.token[:]) == 1 {
		return nil
	}
	own.Allow()
	d.all.Allow()
	d.log.Warn("wrong token for the web page", "remote", remote)
	return errAuth
}

// limiter counts the wrong guesses of one address, or of one IPv6 network: its
// owner has all of it. d.mu is held.
func (d *doors) limiter(remote string) *rate.Limiter {
	host, _, _ := net.SplitHostPort(remote)
	ip, _ := netip.ParseAddr(host) // the zero address counts for all that is none
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			ip = p.Addr()
		}
	}
	l := d.guessers[ip]
	if l == nil {
		if len(d.guessers) >= maxGuessers {
			clear(d.guessers) // the limit over all goes on holding
		}
		l = rate.NewLimiter(rate.Every(10*time.Second), 6)
		d.guessers[ip] = l
	}
	return l
}

// enter begins a session and returns its cookie's value, which is random and
// says nothing about the token. When there are too many the oldest ends.
func (d *doors) enter(now time.Time) string {
	value := rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sessions) >= maxSessions {
		var oldest [32]byte
		first := now.Add(2 * sessionLife)
		for id, ends := range d.sessions {
			if ends.Before(first) {
				oldest, first = id, ends
			}
		}
		delete(d.sessions, oldest)
	}
	d.sessions[sha256.Sum256([]byte(value))] = now.Add(sessionLife)
	return value
}

func (d *doors) known(cookie string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ends, found := d.sessions[sha256.Sum256([]byte(cookie))]
	return found && time.Now().Before(ends)
}

func (d *doors) leave(cookie string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, sha256.Sum256([]byte(cookie)))
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	if c.guard.open {
		http.Redirect(w, r, "/", http.StatusSeeOther)
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
	_, _ = strings.NewReplacer("{{marks}}", marks, "{{alert}}", alert).WriteString(w, c.login)
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
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	if err := r.ParseForm(); err != nil {
		c.loginPage(w, http.StatusBadRequest, "That did not arrive whole. Try again.")
		return
	}
	switch err := c.doors.try(r.PostForm.Get("token"), r.RemoteAddr); err {
	case nil:
	case errSlow:
		c.loginPage(w, http.StatusTooManyRequests, "Too many wrong tokens. Wait a minute.")
		return
	default:
		c.loginPage(w, http.StatusUnauthorized, "That is not the token.")
		return
	}
	c.setCookie(w, r, c.doors.enter(time.Now()), int(sessionLife.Seconds()))
	http.Redirect(w, r, "/", http.StatusSeeOther)
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
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

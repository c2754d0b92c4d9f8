// Package console is the web page: its files, and what only the page asks for (the
// channels, linking them to phones with a picture of the code).
//
// The promise. The page is self-contained: embedded files, no build step, nothing from
// other hosts, and a renderer that builds DOM nodes, never markup, so that it obeys the
// front door's content security policy without exceptions. Who may see it and who asks
// is the business of the front door (internal/web), which [Serve] adds the page to.
//
// Failures. The files are public: they hold no secret, and a link from another site can
// open the page, for which browsers do not send our cookie. Whoever may chat but not link
// phones sees the channels and, in a sentence, how to get in with more rights. A code for
// linking is neither stored nor logged, and ends when the page that shows it closes.
//
// The package starts no goroutines.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"dragoman/internal/people"
	"dragoman/internal/web"
)

//go:embed assets
var assets embed.FS

// ChatPath is where the web channel's API is mounted.
const ChatPath = "/api/chat"

// Options say what the page shows. Chat must be set.
type Options struct {
	// Chat is the web channel's API.
	Chat http.Handler
	// Accounts are the channels on the page. Nil: the page shows none.
	Accounts Accounts
	// LinkWithin is how long the page shows codes for linking before it asks
	// whether to continue. Default: five minutes.
	LinkWithin time.Duration
}

// Serve adds the page to the front door, and the API behind it.
func Serve(door *web.Door, o Options) {
	door.Public("GET /{$}", http.HandlerFunc(toTalk))
	door.Public("GET /old", serveFile("index.html"))
	door.Public("GET /assets/{name}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serveFile(r.PathValue("name"))(w, r)
	}))
	serveApp(door)
	if o.Accounts != nil {
		serveAccounts(door, o.Accounts, o.LinkWithin)
	}
	door.Protect(ChatPath+"/", people.Chat, http.StripPrefix(ChatPath, o.Chat))
}

// toTalk leads from the bare address to the first view. Browsers keep what follows a "#".
func toTalk(w http.ResponseWriter, r *http.Request) {
	at := url.URL{Path: views[0], RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, at.String(), http.StatusFound)
}

// kinds are the content types; the machine's own table could contain anything.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".webmanifest": "application/manifest+json", ".json": "application/json", ".txt": "text/plain; charset=utf-8",
}

// serveFile serves one embedded file.
func serveFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(body)
		w.Header().Set("Content-Type", kinds[path.Ext(name)])
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	}
}

// loginHTML has two placeholders, see LoginPage.
//
//go:embed login.html
var loginHTML string

// LoginPage is the HTML of the login form with the problem of the last attempt, or "". It
// does not use html/template, which calls methods by name: a linker that finds that keeps
// every unused method of the whole program.
func LoginPage(problem string) string {
	marks := ""
	alert := ""
	if problem != "" {
		marks = ` aria-describedby="problem" aria-invalid="true"`
		alert = `<p id="problem" class="problem" role="alert">` + html.EscapeString(problem) + `</p>`
	}
	return strings.NewReplacer("{{marks}}", marks, "{{alert}}", alert).Replace(loginHTML)
}

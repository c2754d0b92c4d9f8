// Package console is the web page: its files, and the login's form. All that the page shows
// comes from /api/v1 (internal/api).
//
// The promise. The page is self-contained: embedded files, no build step, nothing from
// other hosts, and a renderer that builds DOM nodes, never markup, so that it obeys the
// front door's content security policy without exceptions. Who may see it and who asks
// is the business of the front door (internal/web), which [Serve] adds the page to.
//
// Failures. The files are public: they hold no secret, and a link from another site can
// open the page, for which browsers do not send our cookie. A file of another version
// answers 404, and the page says that it must be loaded again.
//
// The package starts no goroutines.
package console

import (
	_ "embed"
	"html"
	"net/http"
	"net/url"
	"strings"

	"dragoman/internal/people"
	"dragoman/internal/web"
)

// ChatPath is where the web channel's API is mounted.
const ChatPath = "/api/chat"

// Serve adds the page to the front door, and the web channel's API, chat.
func Serve(door *web.Door, chat http.Handler) {
	door.Public("GET /{$}", http.HandlerFunc(toTalk))
	serveApp(door)
	door.Protect(ChatPath+"/", people.Chat, http.StripPrefix(ChatPath, chat))
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

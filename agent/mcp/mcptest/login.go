package mcptest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// LoginFlaws are how a [Login] may misbehave, beside "" (not at all).
var LoginFlaws = map[string]string{
	"issuer":     "its metadata name another issuer",
	"resource":   "the server of tools says that it is another one",
	"no-pkce":    "it does not support PKCE",
	"plain":      "it supports PKCE with plain alone",
	"redirects":  "it sends whoever wants its metadata round and round",
	"secrets":    "the refusal names the cloud's secrets as metadata",
	"inside":     "its token endpoint is on a private network",
	"local":      "its token endpoint is on the machine of whoever logs in",
	"plaintext":  "its login is at a host without https",
	"huge":       "its metadata are 8 MB",
	"html":       "its metadata are a page",
	"iss":        "its answer names another issuer",
	"no-iss":     "its answer should name the issuer, and does not",
	"state":      "its answer is one to another login",
	"denied":     "it lets nobody in",
	"error":      "it refuses each code, with words for a terminal",
	"down":       "it has no time for tokens",
	"dpop":       "it gives tokens of another kind",
	"lines":      "it gives a token with a line break",
	"revoked":    "it refuses each refresh",
	"refuses":    "the server of tools refuses each token",
	"no-servers": "the server of tools names no authorization server",
	"port":       "the server of tools names another port of the machine as its authorization server",
	"other":      "the server of tools names an authorization server that is elsewhere",
}

// Login is a server of tools at /mcp that wants OAuth, and its authorization server in one.
// That one knows one client. It gives each code and each refresh token out once, and ends
// the login of whoever uses one twice. Make it with &Login{}; it is an [http.Handler].
type Login struct {
	Flaw string
	// Client and Secret are the client's, and Redirect its address. Secret "": a public one.
	Client, Secret, Redirect string
	// Life is what it says about how long a token lasts, in seconds. 0: nothing.
	Life int
	// Tools is the server of tools.
	Tools http.Handler

	mu        sync.Mutex
	codes     map[string]url.Values // what was asked for
	used      map[string]bool       // codes and refresh tokens
	access    map[string]bool
	refresh   map[string]bool
	refreshes int
	tokens    []string // all that were ever given
}

// EndTokens ends all access tokens, as time does.
func (l *Login) EndTokens() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.access)
}

// Refreshes is how often a token was refreshed, and Tokens are all that were ever given.
func (l *Login) Refreshes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refreshes
}

// Tokens are all tokens that were ever given.
func (l *Login) Tokens() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.tokens...)
}

// Live is how many refresh tokens work.
func (l *Login) Live() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refresh)
}

// ServeHTTP implements [http.Handler].
func (l *Login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := "http://" + r.Host
	switch r.URL.Path {
	case "/mcp":
		l.serveTools(w, r, own)
	case "/.well-known/oauth-protected-resource/mcp":
		l.serveResource(w, own)
	case "/.well-known/oauth-authorization-server":
		l.serveMetadata(w, r, own)
	case "/authorize":
		l.serveAuthorize(w, r, own)
	case "/token":
		l.serveToken(w, r)
	case "/revoke":
		l.end(r.FormValue("token"))
	default:
		http.NotFound(w, r)
	}
}

func (l *Login) serveTools(w http.ResponseWriter, r *http.Request, own string) {
	l.mu.Lock()
	known := l.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	l.mu.Unlock()
	if known && l.Flaw != "refuses" {
		l.Tools.ServeHTTP(w, r)
		return
	}
	at := own + "/.well-known/oauth-protected-resource/mcp"
	if l.Flaw == "secrets" {
		at = "http://169.254.169.254/latest/meta-data/iam/security-credentials/"
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata=%q, scope="tools"`, at))
	w.WriteHeader(http.StatusUnauthorized)
}

func (l *Login) serveResource(w http.ResponseWriter, own string) {
	m := map[string]any{"resource": own + "/mcp", "authorization_servers": []string{own}, "scopes_supported": []string{"all"}}
	switch l.Flaw {
	case "resource":
		m["resource"] = "https://bank.example/mcp"
	case "no-servers":
		delete(m, "authorization_servers")
	case "port":
		m["authorization_servers"] = []string{"http://127.0.0.1:1"}
	case "other":
		m["authorization_servers"] = []string{"https://elsewhere.example"}
	}
	answerJSON(w, http.StatusOK, m)
}

func (l *Login) serveMetadata(w http.ResponseWriter, r *http.Request, own string) {
	m := map[string]any{
		"issuer": own, "authorization_endpoint": own + "/authorize?tenant=1", "token_endpoint": own + "/token", "revocation_endpoint": own + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"plain", "S256"},
		"authorization_response_iss_parameter_supported": true, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"},
	}
	switch l.Flaw {
	case "issuer":
		m["issuer"] = "https://bank.example"
	case "no-pkce":
		delete(m, "code_challenge_methods_supported")
	case "plain":
		m["code_challenge_methods_supported"] = []string{"plain"}
	case "inside":
		m["token_endpoint"] = "https://10.0.0.1/token"
	case "local":
		m["token_endpoint"] = "https://[::1]:1/token"
	case "plaintext":
		m["authorization_endpoint"] = "http://bank.example/authorize"
	case "redirects":
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		return
	case "html":
		_, _ = w.Write([]byte("<!doctype html><title>Welcome to nginx!</title>"))
		return
	case "huge":
		m["ui_locales_supported"] = []string{strings.Repeat("x", 8<<20)}
	}
	answerJSON(w, http.StatusOK, m)
}

// serveAuthorize lets everybody in who asks rightly, without a question.
func (l *Login) serveAuthorize(w http.ResponseWriter, r *http.Request, own string) {
	q := r.URL.Query()
	if q.Get("client_id") != l.Client || q.Get("redirect_uri") != l.Redirect || q.Get("response_type") != "code" || q.Get("tenant") != "1" ||
		q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("resource") != own+"/mcp" || q.Get("state") == "" {
		http.Error(w, "a wrong request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	l.mu.Lock()
	if l.codes == nil {
		l.codes = map[string]url.Values{}
		l.used = map[string]bool{}
		l.access = map[string]bool{}
		l.refresh = map[string]bool{}
	}
	l.codes[code] = q
	l.mu.Unlock()
	back := url.Values{"state": {q.Get("state")}, "iss": {own}, "code": {code}}
	switch l.Flaw {
	case "iss":
		back.Set("iss", "https://bank.example")
	case "no-iss":
		back.Del("iss")
	case "state":
		back.Set("state", "other")
	case "denied":
		back.Del("code")
		back.Set("error", "access_denied")
		back.Set("error_description", "Not you.\x1b[2J")
	}
	http.Redirect(w, r, l.Redirect+"?"+back.Encode(), http.StatusFound)
}

func (l *Login) serveToken(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(code string) {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": "Say\x1b[2J " + r.FormValue("code") + r.FormValue("refresh_token")})
	}
	code := r.FormValue("code")
	asked := l.codes[code]
	switch {
	case l.Flaw == "down":
		w.WriteHeader(http.StatusServiceUnavailable)
	case l.Flaw == "error":
		refuse("invalid_request")
	case r.FormValue("client_id") != l.Client || r.FormValue("client_secret") != l.Secret:
		refuse("invalid_client")
	case r.FormValue("grant_type") == "refresh_token":
		old := r.FormValue("refresh_token")
		if l.Flaw == "revoked" || !l.refresh[old] {
			clear(l.refresh) // somebody uses one twice
			clear(l.access)
			refuse("invalid_grant")
			return
		}
		delete(l.refresh, old)
		l.refreshes++
		l.give(w)
	case asked == nil || l.used[code] || !proves(asked, r.FormValue("code_verifier")) || r.FormValue("redirect_uri") != l.Redirect || r.FormValue("resource") != asked.Get("resource"):
		clear(l.refresh)
		clear(l.access)
		refuse("invalid_grant")
	default:
		l.used[code] = true
		l.give(w)
	}
}

// give gives new tokens. l.mu is held.
func (l *Login) give(w http.ResponseWriter) {
	access := "access-" + rand.Text()
	refresh := "refresh-" + rand.Text()
	l.access[access] = true
	l.refresh[refresh] = true
	l.tokens = append(l.tokens, access, refresh)
	m := map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "scope": "tools"}
	if l.Life > 0 {
		m["expires_in"] = l.Life
	}
	switch l.Flaw {
	case "dpop":
		m["token_type"] = "DPoP"
	case "lines":
		m["access_token"] = "a\r\nX-Admin: 1"
	}
	answerJSON(w, http.StatusOK, m)
}

// end is a revocation: of the whole login.
func (l *Login) end(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refresh[token] {
		clear(l.refresh)
		clear(l.access)
	}
}

// proves reports whether a verifier is that of a challenge.
func proves(asked url.Values, verifier string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return len(verifier) >= 43 && base64.RawURLEncoding.EncodeToString(sum[:]) == asked.Get("code_challenge")
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone is none of a server's business
}

package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/people"
	"dragoman/internal/storage"
	"dragoman/internal/web"
	"dragoman/sessions"
)

// scopeRow is a line of testdata/scopes.txt: a request, and the status that each kind of
// caller gets.
type scopeRow struct {
	line         int
	want         []int // by the columns
	method, path string
	body         string
}

// scopeColumns are the kinds of callers, in the order of the file.
var scopeColumns = []string{"none", "bad", "open", "chat", "read", "operate", "admin", "config", "other", "socket"}

// readScopes reads the matrix.
func readScopes(t *testing.T) []scopeRow {
	t.Helper()
	f, err := os.Open("testdata/scopes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []scopeRow
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < len(scopeColumns)+2 {
			t.Fatalf("line %d has too few columns: %s", n, text)
		}
		row := scopeRow{line: n}
		for _, field := range fields[:len(scopeColumns)] {
			status, err := strconv.Atoi(field)
			if err != nil {
				t.Fatalf("line %d: %q is no status", n, field)
			}
			row.want = append(row.want, status)
		}
		rest := fields[len(scopeColumns):]
		row.method = rest[0]
		row.path = rest[1]
		row.body = strings.Join(rest[2:], " ")
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// matrix asks one daemon that knows tokens, one without any, and the first one's socket.
type matrix struct {
	t            *testing.T
	guarded      *running
	open         *running
	token        map[string]string // by column
	bad          map[string]string // what is wrong with it -> token
	port, socket *http.Client
	asked        int
}

const (
	// ownTalk is the operator's, and othersTalk is of somebody whom no token is of; so is
	// goneTalk, which is deleted.
	ownTalk, othersTalk = "web:default", "telegram:2"
	goneTalk            = "telegram:3"
)

// shopHook is a webhook that others call.
const (
	shopSecret = "the-secret-of-the-shop"
	shopHook   = "incoming_webhooks: [{name: shop, verify: bearer, secret: " + shopSecret + ", to: 'web:default', prompt: 'sold: {{what}}'}]"
)

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{
		t: t, token: map[string]string{"config": pageToken}, bad: map[string]string{"wrong": strings.Repeat("wrong", 5)},
		// Each request comes from an address of its own, because wrong tokens slow an address down.
		guarded: newPlace(t, "http: {listen: '127.0.0.1:0', trusted_proxies: [127.0.0.1], token: "+pageToken+"}\n"+shopHook).run(),
		open:    newPlace(t, shopHook).run(),
	}
	m.port = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: noRedirect}
	socket := storage.Socket(m.guarded.state(""))
	m.socket = &http.Client{CheckRedirect: noRedirect, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	for _, r := range []*running{m.guarded, m.open} {
		if _, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: channels.MustKey(ownTalk), Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		restoreTalk(t, r.admin, channels.MustKey(othersTalk))
		restoreTalk(t, r.admin, channels.MustKey(goneTalk))
	}
	for _, one := range people.Scopes() {
		scope := string(one)
		if !slices.Contains(scopeColumns, scope) {
			t.Fatalf("testdata/scopes.txt and scopeColumns have no column for the scope %s", scope)
		}
		m.token[scope] = m.create(m.guarded.admin, api.NewToken{Name: "t-" + scope, Scope: scope})
	}
	m.token["other"] = m.create(m.guarded.admin, api.NewToken{Name: "t-other", Scope: "admin", Person: "telegram:1"})
	m.makeBad()
	return m
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// restoreTalk stores a conversation that somebody had on a network.
func restoreTalk(t *testing.T, c *api.Client, k channels.Key, owners ...sessions.Owner) {
	t.Helper()
	records := []sessions.Record{
		{Conversation: &sessions.ConversationRecord{Key: k, Seq: 1, MessageSeq: 1, Owners: owners, Created: time.Now(), Updated: time.Now(), Generations: []sessions.Generation{{ID: "20260301_001", FirstSeq: 1, LastSeq: 1, Began: time.Now()}}}},
		{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: "a secret", Sender: k.Chat(), At: time.Now()}}}},
	}
	_, err := c.Restore(t.Context(), func() (sessions.Record, error) {
		if len(records) == 0 {
			return sessions.Record{}, io.EOF
		}
		next := records[0]
		records = records[1:]
		return next, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *matrix) create(c *api.Client, n api.NewToken) string {
	m.t.Helper()
	made, err := api.CreateToken.Call(m.t.Context(), c, n)
	if err != nil {
		m.t.Fatal(err)
	}
	return made.Secret
}

// makeBad makes tokens that must not let anybody in.
func (m *matrix) makeBad() {
	m.t.Helper()
	elsewhere, release, err := app.Admin(m.t.Context(), newPlace(m.t, "").config(), storage.Caller{Verb: "login"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.bad["unknown"] = m.create(elsewhere, api.NewToken{Name: "t", Scope: "admin"})
	release()
	m.bad["mistyped"] = m.token["admin"][:len(m.token["admin"])-1] + "2"
	if m.bad["mistyped"] == m.token["admin"] {
		m.bad["mistyped"] = m.token["admin"][:len(m.token["admin"])-1] + "3"
	}
	m.bad["revoked"] = m.create(m.guarded.admin, api.NewToken{Name: "revoked", Scope: "admin"})
	if _, err := api.RevokeToken.Call(m.t.Context(), m.guarded.admin, api.TokenName{Name: "revoked"}); err != nil {
		m.t.Fatal(err)
	}
	m.bad["expired"] = m.create(m.guarded.admin, api.NewToken{Name: "expired", Scope: "admin", ExpiresIn: 1})
	for what, token := range m.bad {
		m.guarded.until("the "+what+" token to be refused", func() bool {
			return m.status(m.guarded, m.port, scopeRow{method: "GET", path: "/api/v1/status"}, token) == http.StatusUnauthorized
		})
	}
}

// status sends a request and returns the status of the answer.
func (m *matrix) status(r *running, c *http.Client, row scopeRow, token string) int {
	m.t.Helper()
	m.asked++
	host := "dragoman"
	if c == m.port {
		host = r.status().Listen
	}
	// Answers that do not end are cut off when their status is known.
	ctx, cancel := context.WithTimeout(m.t.Context(), most)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, row.method, "http://"+host+row.path, strings.NewReader(row.body))
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("X-Dragoman", "1")
	if r == m.guarded && c == m.port {
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", m.asked>>16&255, m.asked>>8&255, m.asked&255))
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		m.t.Errorf("%s %s: %v", row.method, row.path, err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// all returns the statuses of the columns. Bad tokens must all be treated alike.
func (m *matrix) all(row scopeRow) []int {
	m.t.Helper()
	var got []int
	for _, column := range scopeColumns {
		switch column {
		case "none":
			got = append(got, m.status(m.guarded, m.port, row, ""))
		case "open":
			got = append(got, m.status(m.open, m.port, row, ""))
		case "socket":
			got = append(got, m.status(m.guarded, m.socket, row, ""))
		case "bad":
			alike := 0
			for what, token := range m.bad {
				status := m.status(m.guarded, m.port, row, token)
				if alike != 0 && status != alike {
					m.t.Errorf("%s %s: the %s token gets %d, another bad one %d", row.method, row.path, what, status, alike)
				}
				alike = status
			}
			got = append(got, alike)
		default:
			got = append(got, m.status(m.guarded, m.port, row, m.token[column]))
		}
	}
	return got
}

// TestScopeMatrix asks a real daemon everything as everybody: each line of testdata/scopes.txt
// has a request, and the status for no token, bad ones, each scope, another person, and
// the socket. Every verb and every route of the port has a line.
func TestScopeMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	rows := readScopes(t)
	fill := strings.NewReplacer("{own}", url.PathEscape(ownTalk), "{others}", url.PathEscape(othersTalk))
	for _, row := range rows {
		row.path = fill.Replace(row.path)
		row.body = fill.Replace(row.body)
		got := m.all(row)
		if !slices.Equal(got, row.want) {
			t.Errorf("testdata/scopes.txt:%d: %s %s\n     %v\nis   %d\nwant %d", row.line, row.method, row.path, scopeColumns, got, row.want)
		}
	}
	for verb, pattern := range patterns(m.guarded.daemon.Routes()) {
		ofOthers := func(row scopeRow) bool {
			return pattern.MatchString(row.method+" "+row.path) && (strings.Contains(row.path, "{others}") || strings.Contains(row.path, goneTalk))
		}
		if strings.Contains(verb, "{key}") && !slices.ContainsFunc(rows, ofOthers) {
			t.Errorf("testdata/scopes.txt has no line for %s of somebody else's conversation", verb)
		}
		if !slices.ContainsFunc(rows, func(row scopeRow) bool { return pattern.MatchString(row.method + " " + row.path) }) {
			t.Errorf("testdata/scopes.txt has no line for %s", verb)
		}
	}
}

// patterns match the requests of each verb and of each route, by its method and path.
func patterns(routes []web.Route) map[string]*regexp.Regexp {
	argument := regexp.MustCompile(`\\\{\w+\\\}`)
	rest := regexp.MustCompile(`\\\{\w+\\\.\\\.\\\.\\\}$`)
	all := map[string]*regexp.Regexp{}
	for _, route := range routes {
		method, path, found := strings.Cut(route.Pattern, " ")
		if !found {
			method, path = "GET", route.Pattern
		}
		text := argument.ReplaceAllString(regexp.QuoteMeta(strings.TrimSuffix(path, "{$}")), "[^/?]+")
		text = rest.ReplaceAllString(text, ".+")
		if strings.HasSuffix(path, "/") {
			text += ".+"
		}
		all[method+" "+path] = regexp.MustCompile("^" + method + " " + text + `(\?.*)?$`)
	}
	for _, r := range api.Table() {
		verb := r.Method + " " + api.Root + r.Path
		all[verb] = regexp.MustCompile("^" + argument.ReplaceAllString(regexp.QuoteMeta(verb), "[^/?]+") + `(\?.*)?$`)
	}
	return all
}

package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

// as asks as somebody.
func as(o api.Options, who people.Principal) *api.Client {
	h := api.New(o)
	return api.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
	}))
}

// TestTokens: made, shown once, listed without the secret, renewed, revoked.
func TestTokens(t *testing.T) {
	options := func() api.Options { return optionsOf(filled(t)) }
	clients(t, options, func(t *testing.T, c *api.Client) {
		ctx := t.Context()
		made, err := api.CreateToken.Call(ctx, c, api.NewToken{Name: "laptop", Person: "telegram:42", Scope: "read", ExpiresIn: 3600})
		if err != nil || !strings.HasPrefix(made.Secret, "drg_") || !made.Expires.Equal(now().Add(time.Hour)) || made.Person != "telegram:42" {
			t.Fatalf("CreateToken = %+v, %v", made, err)
		}
		list, err := api.ListTokens.Call(ctx, c, api.None{})
		if err != nil || len(list.Data) != 1 || list.Data[0].Begins != made.Secret[:8] || list.Data[0].Scope != "read" {
			t.Fatalf("ListTokens = %+v, %v", list, err)
		}
		again, err := api.RotateToken.Call(ctx, c, api.Rotation{Name: "laptop", Grace: 60})
		if err != nil || again.Secret == made.Secret || !again.Grace.Equal(now().Add(time.Minute)) {
			t.Fatalf("RotateToken = %+v, %v", again, err)
		}
		ended, err := api.RevokeToken.Call(ctx, c, api.TokenName{Name: "laptop"})
		if err != nil || ended.Revoked.IsZero() {
			t.Fatalf("RevokeToken = %+v, %v", ended, err)
		}
		if _, err := api.RevokeToken.Call(ctx, c, api.TokenName{Name: "phone"}); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("RevokeToken of none = %v, want ErrNotFound", err)
		}
		for name, bad := range map[string]api.NewToken{
			"a scope that there is not": {Name: "x", Scope: "root"}, "a bad name": {Name: "a b", Scope: "chat"},
			"nobody": {Name: "x", Scope: "chat", Person: "ann"}, "a past end": {Name: "x", Scope: "chat", ExpiresIn: -1},
		} {
			if _, err := api.CreateToken.Call(ctx, c, bad); err == nil {
				t.Errorf("%s was taken", name)
			}
		}
	})
}

// TestTokensOfOthers: a token lets its holder in as its person, so that an
// admin who could make one would read other people's talks.
func TestTokensOfOthers(t *testing.T) {
	o := optionsOf(filled(t))
	socket := api.InProcess(api.AsOperator(api.New(o)))
	if _, err := api.CreateToken.Call(t.Context(), socket, api.NewToken{Name: "theirs", Person: "telegram:42", Scope: "chat"}); err != nil {
		t.Fatal(err)
	}
	admin := as(o, people.Principal{ID: people.OperatorID, Scope: people.Admin, Token: "t", TokenID: "1"})
	if got, err := api.CreateToken.Call(t.Context(), admin, api.NewToken{Name: "mine", Person: "telegram:42", Scope: "chat"}); err == nil {
		t.Errorf("an admin made a token of somebody else: %+v", got)
	}
	for _, r := range []api.Rotation{{Name: "theirs"}, {Name: "theirs", Person: "telegram:42"}} {
		if got, err := api.RotateToken.Call(t.Context(), admin, r); err == nil {
			t.Errorf("an admin got the secret of somebody else: %+v", got)
		}
	}
	if got, err := api.CreateToken.Call(t.Context(), admin, api.NewToken{Name: "mine", Scope: "admin"}); err != nil || got.Person != "operator" {
		t.Errorf("their own: %+v, %v", got, err)
	}
	if _, err := api.RevokeToken.Call(t.Context(), admin, api.TokenName{Name: "theirs"}); err != nil {
		t.Errorf("an admin may end any token: %v", err)
	}
}

// TestConsoleLink: only at the socket, and the secret is where browsers send it
// to nobody.
func TestConsoleLink(t *testing.T) {
	o := optionsOf(filled(t))
	socket := api.InProcess(api.AsOperator(api.New(o)))
	if _, err := api.MakeConsoleLink.Call(t.Context(), socket, api.None{}); !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("without a page: %v, want ErrNoDaemon", err)
	}
	o.PageURL = func() string { return "http://127.0.0.1:8787" }
	socket = api.InProcess(api.AsOperator(api.New(o)))
	link, err := api.MakeConsoleLink.Call(t.Context(), socket, api.None{})
	secret, found := strings.CutPrefix(link.URL, "http://127.0.0.1:8787/login#link=")
	if err != nil || !found || len(secret) < 26 || !link.Expires.Equal(now().Add(time.Minute)) {
		t.Fatalf("MakeConsoleLink = %+v, %v", link, err)
	}
	if p, err := people.NewLinks(o.Tokens).Redeem(t.Context(), secret); err != nil || !p.May(people.Admin) {
		t.Errorf("Redeem = %+v, %v", p, err)
	}
	admin := as(o, people.Principal{ID: people.OperatorID, Scope: people.Admin, Token: "t", TokenID: "1"})
	if got, err := api.MakeConsoleLink.Call(t.Context(), admin, api.None{}); err == nil {
		t.Errorf("a token made a link: %+v", got)
	}
}

// TestTokensAreAudited by name, never by their secret.
func TestTokensAreAudited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	o := optionsOf(filled(t))
	o.Audit = erasure.Log{Path: path, Now: now}
	h := api.New(o)
	var secrets []string
	for _, call := range [][3]string{
		{"POST", "/tokens", `{"name":"laptop","scope":"chat"}`},
		{"POST", "/tokens/laptop/rotate", `{}`},
		{"DELETE", "/tokens/laptop", ""},
	} {
		w := asked(h, call[0], api.Root+call[1], call[2])
		if w.Code >= 300 {
			t.Fatalf("%v: %d %s", call, w.Code, w.Body)
		}
		if _, rest, found := strings.Cut(w.Body.String(), `"secret":"`); found {
			secrets = append(secrets, rest[:37])
		}
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"token create", "token rotate", "token revoke"} {
		for _, state := range []string{"begun", "done"} {
			want := `"action":"` + action + `","state":"` + state + `","token":"laptop"`
			if !strings.Contains(string(log), want) {
				t.Errorf("the audit log lacks %s:\n%s", want, log)
			}
		}
	}
	for _, s := range secrets {
		if strings.Contains(string(log), s[8:]) {
			t.Errorf("the audit log has a secret:\n%s", log)
		}
	}
	if len(secrets) != 2 {
		t.Errorf("%d secrets were shown", len(secrets))
	}
}

// TestTokenScopes: nothing about tokens without the scope admin.
func TestTokenScopes(t *testing.T) {
	o := optionsOf(filled(t))
	h := api.New(o)
	for _, scope := range []people.Scope{people.Chat, people.Read, people.Operate} {
		for _, call := range [][2]string{{"GET", "/tokens"}, {"POST", "/tokens"}, {"POST", "/tokens/x/rotate"}, {"DELETE", "/tokens/x"}, {"POST", "/console/links"}} {
			r := httptest.NewRequest(call[0], api.Root+call[1], strings.NewReader("{}"))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r.WithContext(people.With(r.Context(), people.Principal{ID: people.OperatorID, Scope: scope})))
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"code":"insufficient_scope"`) {
				t.Errorf("%s %s with the scope %s: %d, want 403 for the scope", call[0], call[1], scope, w.Code)
			}
		}
	}
}

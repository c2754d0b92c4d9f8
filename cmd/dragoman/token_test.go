package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/config"
	"dragoman/internal/people"
)

// TestToken: a token is printed alone, so that it can be piped, and once.
func TestToken(t *testing.T) {
	w := newWorld(t)
	w.want([]string{"No tokens. To make one: dragoman token create NAME"}, "token", "list")
	code, out, errs := w.run("token", "create", "laptop", "--scope", "read", "--expires", "90d")
	if code != exitOK || !regexp.MustCompile(`^drg_[A-Z2-7]{33}\n$`).MatchString(out) {
		t.Fatalf("create = %d %q %q", code, out, errs)
	}
	for _, part := range []string{"the token laptop of operator", "scope read", "shown only now", "It expires"} {
		if !strings.Contains(errs, part) {
			t.Errorf("it does not say %q: %s", part, errs)
		}
	}
	list := w.want([]string{"laptop", "operator", "read", out[:8], "good, expires", "never"}, "token", "list")
	if strings.Contains(list, out[:12]) {
		t.Errorf("the list shows the secret: %s", list)
	}
	w.want([]string{`"begins": "` + out[:8], `"scope": "read"`}, "token", "list", "--json")
	_, second, _ := w.run("token", "rotate", "laptop", "--grace", "12h")
	if second == out || !strings.HasPrefix(second, "drg_") {
		t.Errorf("rotate = %q", second)
	}
	w.want([]string{"the secret before ends"}, "token", "list")
	for _, none := range []string{"0", "0s", "0m", "0d"} {
		if code, _, errs := w.run("token", "rotate", "laptop", "--grace", none); code != exitOK || strings.Contains(errs, "before it ends") {
			t.Errorf("rotate --grace %s = %d %s, want no grace", none, code, errs)
		}
	}
	w.want([]string{"The token laptop of operator lets nobody in any more."}, "token", "revoke", "laptop")
	w.want([]string{"revoked"}, "token", "list")
}

// The page asks for a token already if the configuration has one.
func TestFirstTokenIsNotTheFirst(t *testing.T) {
	const first = "It is the first one"
	w := newWorld(t)
	if _, _, errs := w.run("token", "create", "a", "--scope", "chat"); !strings.Contains(errs, first) {
		t.Errorf("without http.token it does not say %q: %s", first, errs)
	}
	w = newWorld(t)
	w.daemon.adjust = func(cfg *config.Config) { cfg.HTTP.Token = config.NewSecret("canary-0123456789") }
	if _, _, errs := w.run("token", "create", "a", "--scope", "chat"); strings.Contains(errs, first) {
		t.Errorf("with http.token it says %q: %s", first, errs)
	}
}

// TestTokenRefuses says what is wrong in a sentence.
func TestTokenRefuses(t *testing.T) {
	w := newWorld(t)
	w.fail(exitUsage, "missing flags: --scope", "token", "create", "laptop")
	w.fail(exitUsage, strings.ReplaceAll(scopeList(), ",", ", "), "token", "create", "laptop", "--scope", "root")
	w.fail(exitUsage, "--expires wants a time, like 90d, 12h or 30m", "token", "create", "laptop", "--scope", "chat", "--expires", "soon")
	w.fail(exitUsage, "--expires wants a time", "token", "create", "laptop", "--scope", "chat", "--expires=-3d")
	w.fail(exitUsage, "--grace wants a time", "token", "rotate", "laptop", "--grace", "1w")
	w.fail(1, "the name of a token has", "token", "create", "my laptop", "--scope", "chat")
	w.fail(1, `a person is "operator" or an identity`, "token", "create", "laptop", "--scope", "chat", "--person", "ann")
	w.fail(1, "there is no token phone; dragoman token list shows all", "token", "revoke", "phone")
	w.fail(1, "there is no token phone", "token", "rotate", "phone")
	if code, _, errs := w.run("token", "create", "laptop", "--scope", "chat", "--person", "telegram:42"); code != exitOK {
		t.Fatal(errs)
	}
	w.fail(1, "telegram:42 has a token of this name already", "token", "create", "laptop", "--scope", "chat")
	w.fail(1, "no page is being served", "console")
}

// Each scope is explained where people choose one: in the help of --scope and in docs/tokens.md.
func TestScopesAreExplained(t *testing.T) {
	w := newWorld(t)
	_, help, _ := w.run("token", "create", "--help")
	help = strings.Join(strings.Fields(help), " ")
	page, err := os.ReadFile("../../docs/tokens.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range people.Scopes() {
		if want := string(scope) + " ("; !strings.Contains(help, want) {
			t.Errorf("the help of --scope in token.go lacks %q and what it allows: %s", want, help)
		}
		if want := "| `" + string(scope) + "` |"; !strings.Contains(string(page), want) {
			t.Errorf("the table of scopes in docs/tokens.md lacks the row %s", want)
		}
	}
}

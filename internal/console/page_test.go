package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/console"
)

// The page and the login obey their own policy: nothing inline, nothing from other sites, and
// no way to turn text into markup. What they name is there.
func TestPage(t *testing.T) {
	c := open(t, "")
	page := ask(c, "GET", "/talk", nil)
	policy := page.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("Content-Security-Policy = %q, want %q in it", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("Content-Security-Policy = %q has holes", policy)
	}
	pages := map[string]string{"/talk": page.Body.String(), "/login": ask(open(t, token), "GET", "/login", nil).Body.String()}
	local := regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	for name, body := range pages {
		if regexp.MustCompile(`<script[^>]*>[^<]|\son\w+="|\sstyle="|<style`).MatchString(body) {
			t.Errorf("%s has something inline", name)
		}
		for _, ref := range local.FindAllStringSubmatch(body, -1) {
			if got := ask(c, "GET", ref[1], nil); got.Code >= 400 || got.Header().Get("Content-Type") == "" {
				t.Errorf("%s refers to %s, which answers %d %q", name, ref[1], got.Code, got.Header().Get("Content-Type"))
			}
		}
	}
}

// The bare address leads to the first view, also with what links to the former page had in
// their addresses. Browsers keep what follows a "#".
func TestBareAddress(t *testing.T) {
	c := open(t, "")
	for address, want := range map[string]string{"/": "/talk", "/?room=work": "/talk?room=work"} {
		if got := ask(c, "GET", address, nil); got.Code != http.StatusFound || got.Header().Get("Location") != want {
			t.Errorf("GET %s = %d, leads to %q, want %q", address, got.Code, got.Header().Get("Location"), want)
		}
	}
	if got := ask(c, "GET", "/favicon.ico", nil); got.Code != 200 || got.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("GET /favicon.ico = %d %q", got.Code, got.Header().Get("Content-Type"))
	}
}

// The page can be installed: its manifest names icons that are there, and where it begins.
func TestManifest(t *testing.T) {
	c := open(t, "")
	got := ask(c, "GET", "/app/dragoman.webmanifest", nil)
	if got.Code != 200 || got.Header().Get("Content-Type") != "application/manifest+json" || !strings.Contains(got.Body.String(), `"start_url": "/"`) {
		t.Errorf("the manifest = %d %q %s", got.Code, got.Header().Get("Content-Type"), got.Body)
	}
	icons := regexp.MustCompile(`"src": "([^"]+)"`).FindAllStringSubmatch(got.Body.String(), -1)
	if len(icons) != 3 {
		t.Errorf("the manifest names %d icons, want 3", len(icons))
	}
	for _, m := range icons {
		if icon := ask(c, "GET", "/app/"+m[1], nil); icon.Code != 200 || !strings.HasPrefix(icon.Header().Get("Content-Type"), "image/") {
			t.Errorf("the icon %s = %d %q", m[1], icon.Code, icon.Header().Get("Content-Type"))
		}
	}
	if !strings.Contains(ask(c, "GET", "/talk", nil).Body.String(), `rel="manifest" href="/app/`) {
		t.Error("the page does not name its manifest")
	}
}

// The form is alone, or says what was wrong with the last attempt, as text.
func TestLoginPage(t *testing.T) {
	empty := console.LoginPage("")
	if strings.Contains(empty, "{{") || strings.Contains(empty, "alert") || !strings.Contains(empty, `required autofocus>`) {
		t.Errorf("the login page = %s, want the form alone", empty)
	}
	evil := console.LoginPage(`"><script>alert(1)</script>`)
	if strings.Contains(evil, "{{") || strings.Contains(evil, "<script>alert") || !strings.Contains(evil, `aria-invalid="true">`) || !strings.Contains(evil, `role="alert">&#34;&gt;&lt;script`) {
		t.Errorf("the login page after an attempt = %s, want the form and what was wrong", evil)
	}
}

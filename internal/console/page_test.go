package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"dragoman/internal/console"
)

// The page obeys its own policy: nothing inline, nothing from other sites, and no way to turn
// text into markup.
func TestPage(t *testing.T) {
	c := open(t, "", console.Options{})
	page := ask(c, "GET", "/old", nil)
	policy := page.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("Content-Security-Policy = %q, want %q in it", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("Content-Security-Policy = %q has holes", policy)
	}
	pages := map[string]string{"/old": page.Body.String(), "/login": ask(open(t, token, console.Options{}), "GET", "/login", nil).Body.String()}
	local := regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	for name, body := range pages {
		if regexp.MustCompile(`<script[^>]*>[^<]|\son\w+="|\sstyle="|<style`).MatchString(body) {
			t.Errorf("%s has something inline", name)
		}
		for _, ref := range local.FindAllStringSubmatch(body, -1) {
			if strings.HasPrefix(ref[1], "#") {
				continue
			}
			if got := ask(c, "GET", ref[1], nil); got.Code >= 400 || got.Header().Get("Content-Type") == "" {
				t.Errorf("%s refers to %s, which answers %d %q", name, ref[1], got.Code, got.Header().Get("Content-Type"))
			}
		}
	}
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc`)
	imports := regexp.MustCompile(`from "(\./[a-z]+\.js)"`)
	for _, name := range []string{"app", "channels", "composer", "conversation", "files", "linking", "outbox", "stream"} {
		got := ask(c, "GET", "/assets/"+name+".js", nil)
		if got.Code != 200 || got.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s.js = %d %q", name, got.Code, got.Header().Get("Content-Type"))
		}
		if found := sinks.FindString(got.Body.String()); found != "" {
			t.Errorf("%s.js uses %s", name, found)
		}
		for _, m := range imports.FindAllStringSubmatch(got.Body.String(), -1) {
			if ask(c, "GET", "/assets/"+m[1][2:], nil).Code != 200 {
				t.Errorf("%s.js imports %s, which is not there", name, m[1])
			}
		}
		tag := got.Header().Get("ETag")
		if again := ask(c, "GET", "/assets/"+name+".js", nil, "If-None-Match: "+tag); again.Code != http.StatusNotModified {
			t.Errorf("%s.js with its ETag = %d, want 304", name, again.Code)
		}
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

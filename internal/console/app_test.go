package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// linked are the files that the page names.
var linked = regexp.MustCompile(`(?:src|href)="(/app/[^"]*)"`)

// unpacked is the text of an answer that is compressed.
func unpacked(t *testing.T, from *httptest.ResponseRecorder) string {
	t.Helper()
	r, err := gzip.NewReader(from.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// vendored are the files of others by their names, unpacked. They are there only compressed.
func vendored(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("app/vendor", func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".d.ts") {
			return err
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, zipped := strings.CutSuffix(filepath.ToSlash(name), ".gz")
		if !zipped {
			t.Errorf("%s is there and not compressed: run node .ci/page/vendor.mjs", name)
		}
		found[strings.TrimPrefix(name, "app/")] = unpacked(t, &httptest.ResponseRecorder{Body: bytes.NewBuffer(body)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The address of a view, known or not, answers with the page, which names every file that it
// needs at once. What it names is there, for good.
func TestApp(t *testing.T) {
	c := open(t, "")
	page := ask(c, "GET", "/talk", nil).Body.String()
	for _, address := range []string{"/talk/telegram:42/details", "/talk/no/such", "/you", "/jobs", "/queue", "/channels", "/people", "/usage", "/health", "/log", "/settings"} {
		got := ask(c, "GET", address, nil)
		same := got.Body.String() == page
		if got.Code != http.StatusOK || same != strings.HasPrefix(address, "/talk") || !strings.Contains(page, "<noscript>") || got.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("GET %s = %d %v, want the page with its own modules", address, got.Code, got.Header())
		}
	}
	if regexp.MustCompile(`<script[^>]*>[^<]|\son\w+="|\sstyle="|<style`).MatchString(page) {
		t.Error("the page has something inline")
	}
	for _, m := range linked.FindAllStringSubmatch(page, -1) {
		got := ask(c, "GET", m[1], nil, "Accept-Encoding: gzip")
		if got.Code != http.StatusOK || !strings.Contains(got.Header().Get("Cache-Control"), "immutable") || got.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("the page names %s, which answers %d %v", m[1], got.Code, got.Header())
		}
		head := ask(c, "HEAD", m[1], nil, "Accept-Encoding: gzip")
		if head.Body.Len() != 0 || head.Header().Get("Content-Length") != strconv.Itoa(got.Body.Len()) {
			t.Errorf("HEAD %s = %v and %d bytes, want the length of %d", m[1], head.Header(), head.Body.Len(), got.Body.Len())
		}
	}
	for _, want := range []string{`rel="modulepreload" href="/app/[0-9a-f]{12}/vendor/preact.js"`, `src="/app/[0-9a-f]{12}/js/main.js"`} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("the page = %s, want %s in it", page, want)
		}
	}
}

// Each file comes with its type, compressed or not, and is not sent twice.
func TestAppFiles(t *testing.T) {
	c := open(t, "")
	kinds := map[string]string{
		"js/main.js": "text/javascript; charset=utf-8", "css/base.css": "text/css; charset=utf-8", "icons.svg": "image/svg+xml",
		"index.html": "text/html; charset=utf-8", "vendor/LICENSES.txt": "text/plain; charset=utf-8",
	}
	for name := range vendored(t) {
		if strings.HasSuffix(name, ".js") {
			kinds[name] = "text/javascript; charset=utf-8"
		}
	}
	for name, kind := range kinds {
		plain := ask(c, "GET", "/app/"+name, nil)
		want := vendored(t)[name]
		if want == "" {
			source, err := os.ReadFile("app/" + name)
			if err != nil {
				t.Fatal(err)
			}
			want = string(source)
		}
		if strings.HasSuffix(name, "main.js") || strings.HasSuffix(name, ".css") {
			want = plain.Body.String() // without comments: see TestComments
		}
		if plain.Body.String() != want || plain.Header().Get("Content-Type") != kind || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("GET %s = %d %v, want the file", name, plain.Code, plain.Header())
		}
		small := ask(c, "GET", "/app/"+name, nil, "Accept-Encoding: gzip, br")
		length := small.Body.Len()
		if unpacked(t, small) != want || length >= len(want) || small.Header().Get("ETag") == plain.Header().Get("ETag") {
			t.Errorf("GET %s, compressed = %d bytes %v, want the file in less", name, length, small.Header())
		}
		again := ask(c, "GET", "/app/"+name, nil, "Accept-Encoding: gzip", "If-None-Match: "+small.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("GET %s with its ETag = %d and %d bytes, want 304", name, again.Code, again.Body.Len())
		}
		head := ask(c, "HEAD", "/app/"+name, nil)
		if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Content-Length") != plain.Header().Get("Content-Length") {
			t.Errorf("HEAD %s = %d %v and %d bytes", name, head.Code, head.Header(), head.Body.Len())
		}
	}
	for _, missing := range []string{"js/nothing.js", "0123456789ab/js/main.js", "../console.go", "js", "", "js/"} {
		if got := ask(c, "GET", "/app/"+missing, nil); got.Code == http.StatusOK {
			t.Errorf("GET /app/%s = %d, want none", missing, got.Code)
		}
	}
}

// Modules and style sheets are sent without the lines of their comments, and nothing else is
// missing or on another line. That no text in them has a line that looks like a comment is for
// .ci/page/comments.test.mjs, which knows the language.
func TestComments(t *testing.T) {
	c := open(t, "")
	comment := regexp.MustCompile(`^\s*(//|/\*|\*|$)|\*/$`)
	for name, text := range sources(t) {
		sent := strings.Split(ask(c, "GET", "/"+filepath.ToSlash(name), nil).Body.String(), "\n")
		lines := strings.Split(text, "\n")
		if len(sent) != len(lines) {
			t.Errorf("%s: %d lines are sent, want %d", name, len(sent), len(lines))
			continue
		}
		for i, line := range lines {
			if sent[i] != line && (sent[i] != "" || !comment.MatchString(line)) {
				t.Errorf("%s:%d: sent is %q, want %q", name, i+1, sent[i], line)
			}
		}
		if strings.Contains(strings.Join(sent, "\n"), "@param") {
			t.Errorf("%s is sent with its types", name)
		}
	}
}

// sources are the page's own modules, without those of others.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("app/js", func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".js" {
			return err
		}
		text, err := os.ReadFile(name)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Modules import one another by relative addresses, which keep the version, and none can
// turn text into markup.
func TestModules(t *testing.T) {
	address := regexp.MustCompile(`(?:from\s+|import\s*\(?\s*)["'\x60]([^"'\x60]+)["'\x60]`)
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc`)
	for name, text := range sources(t) {
		if lines := strings.Count(text, "\n"); lines > 300 {
			t.Errorf("%s has %d lines, more than 300", name, lines)
		}
		if sink := sinks.FindString(text); sink != "" {
			t.Errorf("%s uses %s", name, sink)
		}
		for _, m := range address.FindAllStringSubmatch(text, -1) {
			file := filepath.Join(filepath.Dir(name), m[1])
			if strings.HasSuffix(file, "docs/openapi.js") { // named in comments, for its types
				file = strings.TrimSuffix(file, "js") + "d.ts"
			}
			file = strings.ReplaceAll(file, "${name}", "go") // each has the same form
			if strings.Contains(file, "/vendor/") {
				file += ".gz"
			}
			if _, err := os.Stat(file); !strings.HasPrefix(m[1], ".") || err != nil {
				t.Errorf("%s imports %q, want the relative address of a file", name, m[1])
			}
		}
	}
}

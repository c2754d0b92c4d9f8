package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/internal/web"
)

// appFiles are the page's files. Those of others are kept compressed (vendor.md).
//
//go:embed app
var appFiles embed.FS

// views are the addresses at which the page draws something. The page reads the rest of one
// that has more (/talk/KEY/details), and says what it does not know.
var views = []string{
	"/talk", "/talk/{rest...}", "/you", "/jobs", "/queue", "/channels", "/people", "/people/{rest...}", "/usage", "/health", "/log", "/settings", "/first",
}

// serveApp adds the page's files under /app/, and the page at the address of each view.
func serveApp(door *web.Door) {
	// Made when somebody asks for the first time: a daemon without visitors keeps nothing
	// of the page in memory.
	made := sync.OnceValue(func() *app { return newApp(appFiles) })
	index := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view, _, _ := strings.Cut(r.URL.Path[1:], "/")
		made().serveIndex(w, r, view)
	})
	door.Public("GET /app/{name...}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made().serveFile(w, r, r.PathValue("name"))
	}))
	door.Public("GET /favicon.ico", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made().serveFile(w, r, "mark.svg")
	}))
	for _, view := range views {
		door.Public("GET "+view, index)
	}
}

// app is the page's files as browsers get them: compressed, and under addresses with the
// version in them, so that a browser fetches each file once.
type app struct {
	files   fs.FS                     // below the folder app
	version string                    // short, and another one as soon as any file is
	pages   map[string]func() *packed // index.html for each view; made at the first request
	assets  map[string]func() *packed // by name; made at the first request
}

// packed is a file in the form that browsers get.
type packed struct {
	kind  string
	plain func() []byte
	gzip  []byte
}

// newApp reads the files and compresses none.
func newApp(files fs.FS) *app {
	a := &app{files: files, assets: map[string]func() *packed{}, pages: map[string]func() *packed{}}
	h := sha256.New()
	for _, name := range a.names() {
		body, zipped := a.stored(name)
		_, _ = fmt.Fprintf(h, "%s\n%x\n", name, sha256.Sum256(body)) // a hash never fails
		a.assets[name] = sync.OnceValue(func() *packed {
			plain := func() []byte { return a.sent(name) }
			if zipped {
				return &packed{kinds[path.Ext(name)], plain, body}
			}
			return pack(kinds[path.Ext(name)], plain)
		})
	}
	a.version = hex.EncodeToString(h.Sum(nil)[:6])
	for _, address := range views {
		view, _, _ := strings.Cut(address[1:], "/")
		a.pages[view] = sync.OnceValue(func() *packed {
			return pack(kinds[".html"], func() []byte { return a.page(view) })
		})
	}
	return a
}

// names are those of all files that are served.
func (a *app) names() []string {
	var names []string
	err := fs.WalkDir(a.files, "app", func(name string, entry fs.DirEntry, err error) error {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "app/"), ".gz")
		if _, served := kinds[path.Ext(name)]; served && err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("console: list embedded files: %v", err))
	}
	return names
}

// stored returns a file that is known to exist as it is in the binary, and whether that is
// compressed.
func (a *app) stored(name string) (body []byte, zipped bool) {
	body, err := fs.ReadFile(a.files, "app/"+name)
	if err != nil {
		zipped = true
		body, err = fs.ReadFile(a.files, "app/"+name+".gz")
	}
	if err != nil {
		panic(fmt.Sprintf("console: embedded file: %v", err))
	}
	return body, zipped
}

// read returns a file that is known to exist.
func (a *app) read(name string) []byte {
	body, zipped := a.stored(name)
	if !zipped {
		return body
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = io.ReadAll(r)
	}
	if err != nil {
		panic(fmt.Sprintf("console: unpack %s: %v", name, err)) // TestAppFiles unpacks each
	}
	return body
}

// sent is what a browser gets of a file: our own modules and style sheets come without
// comments, which are a quarter of them.
func (a *app) sent(name string) []byte {
	ext := path.Ext(name)
	if strings.HasPrefix(name, "vendor/") || ext != ".js" && ext != ".css" {
		return a.read(name)
	}
	return withoutComments(a.read(name))
}

// withoutComments empties the lines that have only a comment. All other lines keep their
// number, so what a browser says of a line is true of the source. No text in a module may
// have a line that begins like a comment: .ci/page/comments.test.mjs looks.
func withoutComments(source []byte) []byte {
	lines := strings.Split(string(source), "\n")
	within := false
	for i, line := range lines {
		text := strings.TrimSpace(line)
		begins := strings.HasPrefix(text, "/*")
		ends := strings.Contains(text, "*/")
		if begins && ends && !strings.HasSuffix(text, "*/") {
			continue // code follows
		}
		if within || begins || strings.HasPrefix(text, "//") {
			lines[i] = ""
		}
		within = (within || begins) && !ends
	}
	return []byte(strings.Join(lines, "\n"))
}

// page is index.html with the version in its addresses, and a link for each module that
// main.js and the view need at once. Without them a browser would find the modules one level
// of imports after the other, and each level costs a round trip.
func (a *app) page(view string) []byte {
	needed := []string{"js/main.js"}
	if first := "js/views/" + view + ".js"; a.assets[first] != nil {
		needed = append(needed, first)
	}
	var links strings.Builder
	for _, name := range a.modules(needed)[1:] {
		links.WriteString("  <link rel=\"modulepreload\" href=\"/app/" + name + "\">\n")
	}
	text := strings.Replace(string(a.read("index.html")), "</head>", links.String()+"</head>", 1)
	return []byte(strings.ReplaceAll(text, `="/app/`, `="/app/`+a.version+"/"))
}

// imported finds what a module imports at once; import() is for later.
var imported = regexp.MustCompile(`(?m)^(?:import|export)\s(?:[^;'"]*\sfrom\s+)?"(\.[^"]+)"`)

// modules are these and all that they need at once, directly or not.
func (a *app) modules(found []string) []string {
	for i := 0; i < len(found); i++ {
		for _, m := range imported.FindAllSubmatch(a.read(found[i]), -1) {
			name := path.Join(path.Dir(found[i]), string(m[1]))
			if !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

// serveIndex serves the page itself at a view's address.
func (a *app) serveIndex(w http.ResponseWriter, r *http.Request, view string) {
	w.Header().Set("Cache-Control", "no-cache")
	a.pages[view]().serve(w, r, a.version)
}

// serveFile serves a file under its versioned address, where browsers keep it for good, or
// under its name alone.
func (a *app) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	name, versioned := strings.CutPrefix(name, a.version+"/")
	asset, found := a.assets[name]
	if !found {
		http.NotFound(w, r)
		return
	}
	// These are about documents and secrets. Here they would be half of what is sent.
	for _, header := range []string{"Content-Security-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Referrer-Policy", "X-Frame-Options"} {
		if ext := path.Ext(name); ext == ".js" || ext == ".css" {
			w.Header().Del(header)
		}
	}
	if versioned {
		w.Header().Set("Cache-Control", "max-age=31536000, immutable")
		asset().serveOnce(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	asset().serve(w, r, a.version)
}

// pack compresses a file.
func pack(kind string, plain func() []byte) *packed {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(plain())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("console: compress: %v", err)) // into memory, at a level that exists
	}
	return &packed{kind, plain, bytes.Clone(buf.Bytes())}
}

// body is the file as this browser gets it. It sets the headers about it.
func (p *packed) body(w http.ResponseWriter, r *http.Request) (body []byte, zipped bool) {
	body = p.gzip
	zipped = strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	h := w.Header()
	if zipped {
		h.Set("Content-Encoding", "gzip")
	} else {
		body = p.plain()
	}
	h.Set("Content-Type", p.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	return body, zipped
}

// serveOnce answers a browser that will not ask again. The headers for asking again would be
// a tenth of what the first view fetches, because it has many small files.
func (p *packed) serveOnce(w http.ResponseWriter, r *http.Request) {
	body, _ := p.body(w, r)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the browser notices a broken connection
	}
}

// serve answers with the file, or with 304 if the browser has this version.
func (p *packed) serve(w http.ResponseWriter, r *http.Request, version string) {
	body, zipped := p.body(w, r)
	if zipped {
		version += "-gzip"
	}
	w.Header().Set("ETag", `"`+version+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

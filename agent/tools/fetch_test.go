package tools_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"dragoman/agent/tools"
)

// serve starts a server on loopback and counts its requests.
func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv, &asked
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

func TestFetchRefusesLoopback(t *testing.T) {
	srv, asked := serve(t, hello)
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	ok(t, err)
	u, err := url.Parse(srv.URL)
	ok(t, err)
	number := uint16(netip.MustParseAddrPort(u.Host).Port())
	// The port is allowed, so only the address can be the reason. Some programs read
	// odd spellings as addresses, and so does this resolver.
	fetch := tools.WebFetchWith(tools.FetchOptions{Ports: []uint16{number}, Resolver: allLead(t, "127.0.0.1")})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]", "0x7f.1", "①②⑦.⓪.⓪.①", "LOCALHOST"} {
		refuse(t, fetch, m{"url": "http://" + host + ":" + port + "/"}, "not allowed")
	}
	for _, host := range []string{"2130706433", "017700000001", "127.1"} {
		refuse(t, fetch, m{"url": "http://" + host + ":" + port + "/"}, "could not be looked up")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server on loopback was asked %d times", n)
	}
}

func TestFetchExemptionNamesItsServers(t *testing.T) {
	srv, _ := serve(t, hello)
	other, asked := serve(t, hello)
	fetch := tools.WebFetchWith(tools.FetchOptions{}.OnLoopback(t, srv.URL))
	if got := must(t, fetch, m{"url": srv.URL}); !strings.HasSuffix(got, "]\nhello") {
		t.Errorf("web_fetch = %q, want hello", got)
	}
	refuse(t, fetch, m{"url": other.URL}, "not allowed")
	if asked.Load() != 0 {
		t.Error("the other server was asked")
	}
}

func TestFetchExemptionEndsWithItsTest(t *testing.T) {
	srv, asked := serve(t, hello)
	var kept tools.FetchOptions
	t.Run("short", func(t *testing.T) { kept = tools.FetchOptions{}.OnLoopback(t, srv.URL) })
	refuse(t, tools.WebFetchWith(kept), m{"url": srv.URL}, "not allowed")
	if asked.Load() != 0 {
		t.Error("the server was asked after the exemption had ended")
	}
}

func TestFetchChecksRedirects(t *testing.T) {
	secret, asked := serve(t, hello)
	var target string
	srv, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/to":
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		case "/5", "/4", "/3", "/2", "/1":
			http.Redirect(w, r, string('/')+string(r.URL.Path[1]-1), http.StatusSeeOther)
		default:
			fmt.Fprintf(w, "arrived, referer %q", r.Referer())
		}
	})
	fetch := tools.WebFetchWith(tools.FetchOptions{Resolver: allLead(t, "127.0.0.1")}.OnLoopback(t, srv.URL))
	if got := must(t, fetch, m{"url": srv.URL + "/5"}); !strings.Contains(got, srv.URL+"/0, HTTP 200") || !strings.Contains(got, `arrived, referer ""`) {
		t.Errorf("five redirects: %q", got)
	}
	refuse(t, fetch, m{"url": srv.URL + "/loop"}, "more than 5 redirects")
	for _, target = range []string{
		secret.URL, strings.Replace(secret.URL, "127.0.0.1", "localhost", 1), "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/", "file:///etc/passwd",
		"ftp://example.com/", "http://user:pw@example.com/", "http://0x7f.1/", "gopher://127.0.0.1/", "http://example.com:6379/x", "http://①②⑦.⓪.⓪.①/",
	} {
		got, err := call(t, fetch, m{"url": srv.URL + "/to"})
		if err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("redirect to %s = %q, %v; want that it is not allowed", target, got, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("the server behind the redirect was asked")
	}
}

func TestFetchRefusesRedirectFromHTTPSToHTTP(t *testing.T) {
	plain, asked := serve(t, hello)
	srv := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer srv.Close()
	// An untrusted certificate is refused first.
	f := tools.WebFetchWith(tools.FetchOptions{}.OnLoopback(t, srv.URL, plain.URL))
	refuse(t, f, m{"url": srv.URL}, "certificate")
	if asked.Load() != 0 {
		t.Error("the redirect was followed")
	}
	if err := tools.CheckRedirect("https://example.com/", "http://example.com/"); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("https to http = %v, want a refusal", err)
	}
	if err := tools.CheckRedirect("http://example.com/", "https://example.com/"); err != nil {
		t.Errorf("http to https = %v, want nil", err)
	}
}

// resolver answers every question for an IPv4 address with answers.
func resolver(t *testing.T, answers func(question int32) []netip.Addr) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	ok(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		answerQuestions(pc, answers)
	}()
	t.Cleanup(func() {
		pc.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", pc.LocalAddr().String())
	}}
}

// allLead resolves every name to address.
func allLead(t *testing.T, address string) *net.Resolver {
	return resolver(t, func(int32) []netip.Addr { return []netip.Addr{netip.MustParseAddr(address)} })
}

func answerQuestions(pc net.PacketConn, answers func(int32) []netip.Addr) {
	buf := make([]byte, 1500)
	for question := int32(0); ; {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		var msg dnsmessage.Message
		if msg.Unpack(buf[:n]) != nil || len(msg.Questions) != 1 {
			continue
		}
		q := msg.Questions[0]
		reply := dnsmessage.Message{Header: dnsmessage.Header{ID: msg.ID, Response: true, RecursionAvailable: true}, Questions: msg.Questions}
		if q.Type == dnsmessage.TypeA {
			for _, a := range answers(question) {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: a.As4()},
				})
			}
			question++
		}
		if b, err := reply.Pack(); err == nil {
			_, _ = pc.WriteTo(b, from)
		}
	}
}

// TestFetchRebinding: a name resolves first to an allowed server and later to a
// forbidden one on the same port, or to both at once.
func TestFetchRebinding(t *testing.T) {
	good, bad := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	allowed, _ := serve(t, hello)
	_, port, err := net.SplitHostPort(allowed.Listener.Addr().String())
	ok(t, err)
	l, err := net.Listen("tcp4", "127.0.0.2:"+port)
	ok(t, err)
	var reached atomic.Int32
	secret := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = secret.Serve(l)
	}()
	defer func() {
		secret.Close()
		<-done
	}()

	for _, test := range []struct {
		name    string
		answers [][]netip.Addr // one for each fetch; nil is a fetch that must fail
		want    []bool
	}{
		{"first good, then bad", [][]netip.Addr{{good}, {bad}}, []bool{true, false}},
		{"first bad, then good", [][]netip.Addr{{bad}, {good}}, []bool{false, true}},
		{"both", [][]netip.Addr{{bad, good}}, []bool{true}},
		{"only forbidden ones", [][]netip.Addr{{bad, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")}}, []bool{false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fetch := tools.WebFetchWith(tools.FetchOptions{
				Resolver: resolver(t, func(n int32) []netip.Addr { return test.answers[min(int(n), len(test.answers)-1)] }),
			}.OnLoopback(t, allowed.URL))
			for i, want := range test.want {
				got, err := call(t, fetch, m{"url": "http://rebind.example:" + port + "/"})
				if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "not allowed") {
					t.Errorf("fetch %d = %q, %v; want success = %v", i+1, got, err, want)
				}
			}
		})
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the forbidden server was reached %d times", n)
	}
}

func TestFetchIgnoresProxies(t *testing.T) {
	proxy, asked := serve(t, hello)
	srv, _ := serve(t, hello)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	fetch := tools.WebFetchWith(tools.FetchOptions{
		Resolver: allLead(t, "10.0.0.1"),
	}.OnLoopback(t, srv.URL, proxy.URL))
	refuse(t, fetch, m{"url": "http://intranet.example/"}, "not allowed")
	must(t, fetch, m{"url": srv.URL})
	if asked.Load() != 0 {
		t.Error("the proxy was asked")
	}
	// net/http reads the environment once per process, perhaps before this test sets
	// it, so the client is checked as well.
	if tools.HasProxy() {
		t.Error("the client has a proxy")
	}
}

func TestFetchBounds(t *testing.T) {
	bomb := gzipped(bytes.Repeat([]byte("0"), 16<<20)) // 16 KB become 16 MB
	srv, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("endless "), 1<<10)); err != nil {
					return
				}
			}
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "x")
		case "/header":
			w.Header().Set("X-Big", strings.Repeat("x", 1<<20))
		case "/silent":
			<-r.Context().Done()
		case "/short":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "only this")
		}
	})
	fetch := tools.WebFetchWith(tools.FetchOptions{BodyBytes: 100_000, TextBytes: 1000}.OnLoopback(t, srv.URL))
	for _, path := range []string{"/bomb", "/endless"} {
		got := must(t, fetch, m{"url": srv.URL + path})
		if len(got) > 1500 || !strings.Contains(got, "longer than 100000 bytes and was cut") || !strings.Contains(got, "go on with offset 1000") {
			t.Errorf("%s = %d bytes that begin %.300q", path, len(got), got)
		}
	}
	refuse(t, fetch, m{"url": srv.URL + "/brotli"}, "encoding that was not asked for")
	refuse(t, fetch, m{"url": srv.URL + "/short"}, "broke off")
	refuse(t, fetch, m{"url": srv.URL + "/header"}, "header")
	fast := tools.WebFetchWith(tools.FetchOptions{Timeout: 50 * time.Millisecond}.OnLoopback(t, srv.URL))
	refuse(t, fast, m{"url": srv.URL + "/silent"}, "no answer within 50ms")
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func TestFetchPages(t *testing.T) {
	text := strings.Repeat("漢字かな", 300)
	srv, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, text)
	})
	fetch := tools.WebFetchWith(tools.FetchOptions{TextBytes: 1000}.OnLoopback(t, srv.URL))
	var got strings.Builder
	for offset := 0; offset < len(text); {
		page := must(t, fetch, m{"url": srv.URL, "offset": offset})
		_, part, _ := strings.Cut(page, "instructions.]\n")
		if part == "" || len(part) > 1000 {
			t.Fatalf("page at %d = %q", offset, page)
		}
		got.WriteString(part)
		offset += len(part)
	}
	if got.String() != text {
		t.Errorf("the pages are %d bytes, want %d", got.Len(), len(text))
	}
	refuse(t, fetch, m{"url": srv.URL, "offset": len(text)}, "past its end")
}

func TestFetchSaysTheStatus(t *testing.T) {
	srv, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/image" {
			w.Header().Set("Content-Type", "image/png")
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "no such page")
	})
	fetch := tools.WebFetchWith(tools.FetchOptions{}.OnLoopback(t, srv.URL))
	if got := must(t, fetch, m{"url": srv.URL + "/x"}); !strings.Contains(got, "HTTP 404") || !strings.HasSuffix(got, "no such page") {
		t.Errorf("web_fetch of a missing page = %q", got)
	}
	refuse(t, fetch, m{"url": srv.URL + "/image"}, "image/png is not text")
	refuse(t, fetch, m{"url": "https://exa mple.com/"}, "not a web address")
	refuse(t, fetch, m{"url": ""}, "must begin with")
	nowhere := tools.WebFetchWith(tools.FetchOptions{Resolver: resolver(t, func(int32) []netip.Addr { return nil })})
	refuse(t, nowhere, m{"url": "https://nowhere.example/"}, "nowhere.example could not be looked up: no such host")
}

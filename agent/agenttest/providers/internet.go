package providers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Internet makes a program believe that it talks to the hosts of providers: it is a
// proxy on loopback, with a certificate for each of these hosts. Nothing that passes
// through it leaves the machine.
type Internet struct {
	proxy string
	roots string

	mu    sync.Mutex
	hosts map[string]http.Handler
}

// NewInternet starts one that ends with the test.
func NewInternet(t testing.TB) *Internet {
	t.Helper()
	in := &Internet{hosts: map[string]http.Handler{}, roots: filepath.Join(t.TempDir(), "roots.pem")}
	certificate, err := in.certify()
	if err != nil {
		t.Fatal(err)
	}
	silent := log.New(io.Discard, "", 0) // programs under test may be killed
	inside := &http.Server{Handler: in, ReadHeaderTimeout: 10 * time.Second, ErrorLog: silent, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	hosts, door := listen(t), listen(t)
	tunnel := &tunnel{to: hosts.Addr().String(), open: map[net.Conn]bool{}}
	outside := &http.Server{Handler: tunnel, ReadHeaderTimeout: 10 * time.Second, ErrorLog: silent}
	in.proxy = "http://" + door.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() { _ = inside.ServeTLS(hosts, "", "") })
	wg.Go(func() { _ = outside.Serve(door) })
	t.Cleanup(func() {
		_ = outside.Close()
		_ = inside.Close()
		tunnel.close()
		wg.Wait()
	})
	return in
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Env returns the environment that a program needs.
func (in *Internet) Env() []string {
	return []string{"HTTPS_PROXY=" + in.proxy, "SSL_CERT_FILE=" + in.roots}
}

// Put serves a provider at its documented host, replacing an earlier one, and returns
// its base URL. A local provider keeps its address.
func (in *Internet) Put(s *Server) string {
	u, err := url.Parse(s.Base)
	if err != nil || u.Host == "" {
		return s.URL()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hosts[u.Host] = s
	return s.Base
}

// ServeHTTP answers for all hosts.
func (in *Internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in.mu.Lock()
	h := in.hosts[r.Host]
	in.mu.Unlock()
	if h == nil {
		http.Error(w, "no server at "+r.Host, http.StatusBadGateway)
		return
	}
	h.ServeHTTP(w, r)
}

// certify creates one self-signed certificate for the hosts of all providers, and
// writes it to a file of trusted authorities.
func (in *Internet) certify() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, p := range All() {
		if u, err := url.Parse(p.Base); err == nil && u.Host != "" {
			about.DNSNames = append(about.DNSNames, u.Host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(in.roots, text, 0o600)
}

// tunnel is a proxy that connects every host to one address.
type tunnel struct {
	to string

	mu   sync.Mutex
	wg   sync.WaitGroup
	done bool
	open map[net.Conn]bool
}

func (t *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hijacker, can := w.(http.Hijacker)
	if r.Method != http.MethodConnect || !can {
		http.Error(w, "this proxy knows CONNECT alone", http.StatusMethodNotAllowed)
		return
	}
	there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", t.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := hijacker.Hijack()
	if err != nil || !t.keep(here, there) {
		_ = there.Close()
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
		go func() {
			defer t.wg.Done()
			_, _ = io.Copy(pair[0], pair[1])
			_ = here.Close()
			_ = there.Close()
		}()
	}
}

// keep remembers connections, so that they can be closed. Two goroutines must be
// waited for.
func (t *tunnel) keep(conns ...net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		t.open[c] = true
		if t.done {
			_ = c.Close()
		}
	}
	if !t.done {
		t.wg.Add(2)
	}
	return !t.done
}

// close closes all connections and waits for their goroutines.
func (t *tunnel) close() {
	t.mu.Lock()
	t.done = true
	for c := range t.open {
		_ = c.Close()
	}
	t.mu.Unlock()
	t.wg.Wait()
}

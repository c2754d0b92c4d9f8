package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/web"
)

// mostConnections is how many the servers of these tests have.
const mostConnections = 4

// crowded serves a page with at most that many connections, whose /events never ends.
func crowded(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", web.Probes(web.ProbeOptions{Check: func(context.Context) error { return nil }}))
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- web.Serve(ctx, ln, mux, web.ServeOptions{Connections: mostConnections, Logger: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// hold opens a connection, writes text and may read the first line of the answer.
func hold(t *testing.T, addr, text string, reads bool) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if reads {
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// A client that holds all connections cannot keep a probe from being answered.
func TestProbeAmongHeldConnections(t *testing.T) {
	for name, held := range map[string]struct {
		text  string
		reads bool
	}{
		"silent":                {"", false},
		"half a header":         {"GET / HTTP/1.1\r\nHost:", false},
		"idle after an answer":  {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", true},
		"half a body":           {"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12", false},
		"streams that are read": {"GET /events HTTP/1.1\r\nHost: x\r\n\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			addr := crowded(t)
			var all []*bufio.Reader
			for range 3 * mostConnections {
				all = append(all, hold(t, addr, held.text, held.reads))
			}
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
			for range 3 {
				resp, err := client.Get("http://" + addr + "/healthz")
				if err != nil {
					t.Fatal(err)
				}
				if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("healthz = %d, %v", resp.StatusCode, err)
				}
			}
			for i, in := range all[:2*mostConnections] {
				if _, err := io.Copy(io.Discard, in); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("connection %d of %d is still open; %d may be", i+1, len(all), mostConnections)
				}
			}
		})
	}
}

// visitor is a connection from an address.
type visitor struct {
	net.Conn
	addr   string
	closed bool
}

func (v *visitor) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(v.addr), Port: 1} }
func (v *visitor) Close() error         { v.closed = true; return nil }

func TestWhoIsSentAway(t *testing.T) {
	const idle, active = http.StateIdle, http.StateActive
	for name, c := range map[string]struct {
		addrs  string
		states []http.ConnState
		after  time.Duration
		want   int
	}{
		"the oldest":                        {"aaa", []http.ConnState{active, active, active}, 0, 0},
		"who asks for nothing":              {"aaa", []http.ConnState{active, idle, idle}, time.Second, 1},
		"not who may be about to ask":       {"aaa", []http.ConnState{active, idle, idle}, time.Second / 2, 0},
		"of the address with the most":      {"abb", []http.ConnState{active, active, active}, 0, 1},
		"whoever asks for nothing is first": {"abb", []http.ConnState{idle, active, active}, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				follow := web.Connections(len(c.states))
				var all []*visitor
				for i, state := range c.states {
					v := &visitor{addr: "10.0.0." + map[byte]string{'a': "1", 'b': "2"}[c.addrs[i]]}
					all = append(all, v)
					follow(v, http.StateNew)
					follow(v, active)
					follow(v, state)
					time.Sleep(time.Millisecond)
				}
				time.Sleep(c.after)
				follow(&visitor{addr: "10.0.0.3"}, http.StateNew)
				for i, v := range all {
					if v.closed != (i == c.want) {
						t.Errorf("connection %d of %s is closed: %t", i, c.addrs, v.closed)
					}
				}
				follow(all[c.want], http.StateClosed) // as the server says then
				follow(all[1-min(c.want, 1)], http.StateClosed)
				follow(&visitor{addr: "10.0.0.3"}, http.StateNew)
				if all[2].closed {
					t.Error("a connection is closed though there is room")
				}
			})
		})
	}
}

package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// slowListeners is how many programs listen to all events and do not read them.
const slowListeners = 20

// TestBenchListeners measures turns with and without slow listeners, one after the other
// in one daemon, and says whether each was told that it was cut off.
func TestBenchListeners(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for minutes; run it with: make bench-listeners")
	}
	const rounds = 6
	const warm, long = 2 * time.Second, 8 * time.Second
	h := newHouse(t, build(t), plan{})
	d := h.start()
	defer d.stop()
	h.saturate(d.used, 200, warm, long) // the first round is slower than all others
	var ratios []float64
	for round := range rounds {
		order := []int{0, slowListeners}
		if round%2 == 1 { // the store grows, and with it what a turn costs
			slices.Reverse(order)
		}
		rates := map[int]float64{}
		for _, n := range order {
			before := d.own()
			listeners := h.listenSlowly(n)
			b := h.saturate(d.used, 200, warm, long)
			grown := d.own() - before
			told := 0
			for _, l := range listeners {
				if toldThatSlow(l) {
					told++
				}
			}
			rates[n] = float64(b.answers) / b.window.Seconds()
			t.Logf("round %d, %2d slow listeners: %.0f turns/s, %v of CPU a turn, written pages %+.1f MB, %d told, others used %.2f cores",
				round+1, n, rates[n], b.daemon/time.Duration(max(b.answers, 1)), float64(grown)/(1<<20),
				told, max(b.others.Seconds()/b.window.Seconds(), 0))
			if told != n {
				t.Errorf("%d of %d listeners were told that they read too slowly", told, n)
			}
		}
		ratios = append(ratios, rates[slowListeners]/rates[0])
	}
	slices.Sort(ratios)
	t.Logf("turns/s with slow listeners against without: median %.2f, from %.2f to %.2f", (ratios[rounds/2-1]+ratios[rounds/2])/2, ratios[0], ratios[rounds-1])
}

// listenSlowly begins streams of all events that nobody reads.
func (h *house) listenSlowly(n int) (listeners []net.Conn) {
	h.t.Helper()
	socket := filepath.Join(filepath.Dir(h.config), "state", "dragoman.sock")
	for range n {
		var dialer net.Dialer
		ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
		conn, err := dialer.DialContext(ctx, "unix", socket)
		cancel()
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprint(conn, "GET /api/v1/events HTTP/1.1\r\nHost: dragoman\r\nConnection: close\r\n\r\n"); err != nil {
			h.t.Fatal(err)
		}
		listeners = append(listeners, conn)
	}
	return listeners
}

// toldThatSlow reads a stream to its end.
func toldThatSlow(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	all, _ := io.ReadAll(conn) // a stream that ends without a last event was not told
	_ = conn.Close()
	return bytes.Contains(all, []byte(`"event":"ended"`)) && bytes.Contains(all, []byte(`"why":"slow"`))
}

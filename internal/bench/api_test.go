package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/agenttest"
)

const (
	// apiPairs is how many rounds are measured; in each, every kind of turn once.
	apiPairs = 5
	// apiClients is how many programs, or people, ask at the same time.
	apiClients = 100
	apiToken   = "the-token-of-this-measurement"
)

// apiKind is a way in which turns begin.
type apiKind string

// The ways.
const (
	byChannel apiKind = "Telegram"
	byGiven   apiKind = "API, the client keeps the messages"
	byStream  apiKind = "API, the same as a stream"
	byRoom    apiKind = "API, in a conversation"
)

// TestBenchAPI compares the CPU of the daemon for a turn of OpenAI's API with that for a
// turn of a channel, in interleaved rounds in one daemon.
func TestBenchAPI(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for minutes; run it with: make bench-api")
	}
	const warm, long = time.Second, 5 * time.Second
	listen := freeListen(t)
	h := newHouse(t, build(t), plan{http: fmt.Sprintf("{listen: %q, token: %s}", listen, apiToken)})
	d := h.start()
	defer d.stop()
	programs := newPrograms(t, "http://"+listen)
	kinds := []apiKind{byChannel, byGiven, byStream, byRoom}
	cost := map[apiKind][]float64{}   // ms of CPU a turn
	ratios := map[apiKind][]float64{} // to the channel's turn of the same round
	h.saturate(d.used, apiClients, warm, long)
	for round := range apiPairs {
		took := map[apiKind]float64{}
		order := slices.Clone(kinds)
		if round%2 == 1 { // whoever is first meets another machine
			slices.Reverse(order)
		}
		for _, kind := range order {
			var b busy
			if kind == byChannel {
				b = h.saturate(d.used, apiClients, warm, long)
			} else {
				b = programs.saturate(d.used, kind, warm, long)
			}
			took[kind] = float64(b.daemon) / 1e6 / float64(max(b.answers, 1))
			t.Logf("round %d, %s: %.0f turns/s, %.3f ms of CPU a turn, others used %.2f cores", round+1, kind,
				float64(b.answers)/b.window.Seconds(), took[kind], max(b.others.Seconds()/b.window.Seconds(), 0))
		}
		for _, kind := range kinds {
			cost[kind] = append(cost[kind], took[kind])
			ratios[kind] = append(ratios[kind], took[kind]/took[byChannel])
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| turn | ms of CPU: median of %d (least to most) | of a channel's turn: median (least to most) |\n|---|---|---|\n", apiPairs)
	for _, kind := range kinds {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", kind, ranged(cost[kind], 3), ranged(ratios[kind], 2))
	}
	t.Logf("\n%s", table.String())
}

// ranged is the median of what was measured, and its spread.
func ranged(all []float64, digits int) string {
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, percentile(sorted, 50), digits, sorted[0], digits, sorted[len(sorted)-1])
}

// freeListen is an address at which nothing listens.
func freeListen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// programs are clients of OpenAI's API.
type programs struct {
	t     *testing.T
	url   string
	http  *http.Client
	count atomic.Int64 // of questions, also the newest mark
	wrong atomic.Int64 // answers that are not to their question
}

func newPrograms(t *testing.T, url string) *programs {
	transport := &http.Transport{MaxIdleConnsPerHost: apiClients}
	t.Cleanup(transport.CloseIdleConnections)
	return &programs{t: t, url: url, http: &http.Client{Transport: transport}}
}

// saturate has every client ask, one question after the other. The first part of the time
// is not counted.
func (p *programs) saturate(used func() time.Duration, kind apiKind, warm, long time.Duration) busy {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	defer stop()
	var answers atomic.Int64
	var asking sync.WaitGroup
	for client := range apiClients {
		asking.Go(func() {
			for ctx.Err() == nil {
				p.ask(kind, client)
				answers.Add(1)
			}
		})
	}
	time.Sleep(warm)
	b := busy{daemon: used(), own: ownCPU(), others: machineCPU()}
	began := time.Now()
	before := answers.Load()
	time.Sleep(long)
	b.window = time.Since(began)
	b.answers = int(answers.Load() - before)
	b.daemon = used() - b.daemon
	b.own = ownCPU() - b.own
	b.others = machineCPU() - b.others - b.daemon - b.own
	stop()
	asking.Wait()
	if n := p.wrong.Swap(0); n > 0 {
		p.t.Errorf("%s: %d answers are wrong", kind, n)
	}
	return b
}

// ask asks what people ask on a channel, and reads the answer.
func (p *programs) ask(kind apiKind, client int) {
	mark := p.count.Add(1)
	body, err := json.Marshal(map[string]any{
		"model": "dragoman", "stream": kind == byStream,
		"messages": []map[string]string{{"role": "user", "content": fmt.Sprintf("What do you know about #%d, and is it a good number to think of today?", mark)}},
	})
	if err != nil {
		panic(err) // not the test's goroutine
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+apiToken)
	if kind == byRoom {
		req.Header.Set("X-Session-Key", fmt.Sprintf("web:bench-%d", client))
	}
	resp, err := p.http.Do(req)
	if err != nil {
		p.wrong.Add(1)
		return
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if kind == byStream {
		data = []byte(streamedText(data))
	}
	marks := agenttest.Marks(string(data))
	if err != nil || resp.StatusCode != http.StatusOK || len(marks) != 1 || marks[0] != fmt.Sprintf("#%d", mark) {
		if p.wrong.Add(1) <= 3 {
			p.t.Logf("%s: %s to #%d, %v: %.300s", kind, resp.Status, mark, err, data)
		}
	}
}

// streamedText joins the pieces of a stream.
func streamedText(data []byte) string {
	var text strings.Builder
	for line := range bytes.Lines(data) {
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		rest, found := bytes.CutPrefix(line, []byte("data: "))
		if !found || json.Unmarshal(rest, &c) != nil || len(c.Choices) != 1 {
			continue
		}
		text.WriteString(c.Choices[0].Delta.Content)
	}
	return text.String()
}

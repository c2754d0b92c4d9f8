package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/internal/testkit"
)

const (
	// apiPairs is how many rounds are measured; in each, every kind of turn once.
	apiPairs = 5
	// apiClients is how many programs, or people, ask at the same time.
	apiClients = 100
	// apiTurns is how many questions each of them asks in a round, in a chat that is new.
	// They lead to one summary, so every kind of turn reads histories of the same lengths,
	// however fast it is.
	apiTurns = 46
	apiToken = "the-token-of-this-measurement"
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

// apiCost is what turns of a kind cost the daemon.
type apiCost struct{ ms, kilobytes, objects float64 }

// TestBenchAPI compares the CPU of the daemon for a turn of OpenAI's API with that for a
// turn of a channel, in interleaved rounds in one daemon.
func TestBenchAPI(t *testing.T) {
	if os.Getenv("DRAGOMAN_BENCH") != "1" {
		t.Skip("measures for minutes; run it with: make bench-api")
	}
	listen := testkit.FreeAddress(t)
	h := newHouse(t, build(t), plan{http: fmt.Sprintf("{listen: %q, token: %s}", listen, apiToken)})
	d := h.start()
	defer d.stop()
	programs := newPrograms(t, "http://"+listen)
	kinds := []apiKind{byChannel, byGiven, byStream, byRoom}
	costs := map[apiKind][]apiCost{}
	chats := 0 // that there were so far
	measure := func(kind apiKind, turns int) apiCost {
		first := chats
		chats += apiClients
		bytes, objects := allocated(t, listen, apiToken)
		b := busy{daemon: d.used(), own: ownCPU(), others: machineCPU()}
		began := time.Now()
		calls := h.model.Count()
		if kind == byChannel {
			h.talk(firstChat+int64(first), apiClients, turns)
		} else {
			programs.talk(kind, first, turns)
		}
		if stored := kind == byChannel || kind == byRoom; stored && turns == apiTurns {
			h.summarised(calls + apiClients*(turns+1))
		}
		b.window = time.Since(began)
		b.daemon = d.used() - b.daemon
		b.own = ownCPU() - b.own
		b.others = machineCPU() - b.others - b.daemon - b.own
		bytesAfter, objectsAfter := allocated(t, listen, apiToken)
		n := float64(apiClients * turns)
		c := apiCost{ms: float64(b.daemon) / 1e6 / n, kilobytes: (bytesAfter - bytes) / 1e3 / n, objects: (objectsAfter - objects) / n}
		t.Logf("%s: %.0f turns/s, %.3f ms of CPU, %.0f kB and %.0f objects a turn, %.2f requests to the model, others used %.2f cores", kind,
			n/b.window.Seconds(), c.ms, c.kilobytes, c.objects, float64(h.model.Count()-calls)/n, max(b.others.Seconds()/b.window.Seconds(), 0))
		return c
	}
	for _, kind := range kinds {
		measure(kind, apiTurns/4) // what the first turns of a process make stays
	}
	for round := range apiPairs {
		order := slices.Clone(kinds)
		if round%2 == 1 { // whoever is first meets another machine
			slices.Reverse(order)
		}
		for _, kind := range order {
			costs[kind] = append(costs[kind], measure(kind, apiTurns))
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| turn | ms of CPU: median of %d (least to most) | of a channel's turn: median (least to most) | kB | objects |\n|---|---|---|---|---|\n", apiPairs)
	for _, kind := range kinds {
		var ms, ratios, kilobytes, objects []float64
		for i, c := range costs[kind] {
			ms = append(ms, c.ms)
			ratios = append(ratios, c.ms/costs[byChannel][i].ms) // of the same round
			kilobytes = append(kilobytes, c.kilobytes)
			objects = append(objects, c.objects)
		}
		slices.Sort(kilobytes)
		slices.Sort(objects)
		fmt.Fprintf(&table, "| %s | %s | %s | %.0f | %.0f |\n", kind, ranged(ms, 3), ranged(ratios, 2), percentile(kilobytes, 50), percentile(objects, 50))
	}
	t.Logf("\n%s", table.String())
}

// summarised waits for the last summaries, so that they are counted where they belong:
// until the model was asked so often.
func (h *house) summarised(calls int) {
	h.t.Helper()
	for end := time.Now().Add(10 * time.Second); h.model.Count() < calls && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := h.model.Count(); n != calls {
		h.t.Logf("the model was asked %d times, want %d: one summary for each chat", n, calls)
	}
}

// talk has each of some new chats ask so many questions, the next one when the last is
// answered.
func (h *house) talk(first int64, chats, turns int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Minute)
	defer cancel()
	h.people.reset()
	left := map[int64]int{}
	for i := range int64(chats) {
		left[first+i] = turns - 1
		h.people.ask(first + i)
	}
	for len(left) > 0 {
		select {
		case chat := <-h.people.news:
			if left[chat] == 0 {
				delete(left, chat)
				continue
			}
			left[chat]--
			h.people.ask(chat)
		case <-ctx.Done():
			h.t.Errorf("%d chats wait for an answer", len(left))
			return
		}
	}
	h.settle()
}

// ranged is the median of what was measured, and its spread.
func ranged(all []float64, digits int) string {
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, percentile(sorted, 50), digits, sorted[0], digits, sorted[len(sorted)-1])
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

// talk has every client ask so many questions, one after the other: in rooms of that
// number and the following ones, if they are in a conversation.
func (p *programs) talk(kind apiKind, room, turns int) {
	p.t.Helper()
	var asking sync.WaitGroup
	for client := range apiClients {
		asking.Go(func() {
			for range turns {
				p.ask(kind, room+client)
			}
		})
	}
	asking.Wait()
	if n := p.wrong.Swap(0); n > 0 {
		p.t.Errorf("%s: %d answers are wrong", kind, n)
	}
}

// ask asks what people ask on a channel, and reads the answer.
func (p *programs) ask(kind apiKind, room int) {
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
		req.Header.Set("X-Session-Key", fmt.Sprintf("web:bench-%d", room))
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

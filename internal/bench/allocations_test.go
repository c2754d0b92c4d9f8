package bench_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"dragoman/internal/testkit"
)

// What a turn of the daemon may allocate in a chat of ten turns: a tenth more than it does.
// What is allocated has to be cleared and collected too, so this shows where CPU time
// goes, and unlike a time it does not depend on what else runs.
const (
	mostBytes   = 116_000
	mostObjects = 1_200
)

// The same of a turn of OpenAI's API in a conversation. Its commits are those of its
// message, its turn and the delivery, which are two, and the note by which a repeat is known.
const (
	mostAPIBytes   = 116_500
	mostAPIObjects = 1_265
	mostAPICommits = 5.05 // now and then room is made for notes
)

// TestAllocationsOfATurn asks the real binary one question after the other and reads from
// its metrics what that allocated, polls and deliveries included.
func TestAllocationsOfATurn(t *testing.T) {
	const token = "a token of sixteen letters"
	addr := testkit.FreeAddress(t)
	h := newHouse(t, build(t), plan{http: fmt.Sprintf("{listen: %q, token: %q}", addr, token)})
	d := h.start()
	defer d.stop()
	const chats, turns = 20, 10
	h.alone(firstChat, turns) // what the first turns of a process make stays
	bytes, objects := allocated(t, addr, token)
	for i := range chats {
		h.alone(firstChat+1+int64(i), turns)
	}
	bytesAfter, objectsAfter := allocated(t, addr, token)
	bytes = (bytesAfter - bytes) / (chats * turns)
	objects = (objectsAfter - objects) / (chats * turns)
	t.Logf("a turn allocates %.0f bytes in %.0f objects", bytes, objects)
	if bytes > mostBytes || objects > mostObjects {
		t.Errorf("a turn allocates %.0f bytes in %.0f objects, want at most %d in %d", bytes, objects, mostBytes, mostObjects)
	}
}

// TestAllocationsOfAnAPITurn is the same for a turn of OpenAI's API in a conversation, and
// counts what it commits.
func TestAllocationsOfAnAPITurn(t *testing.T) {
	listen := testkit.FreeAddress(t)
	h := newHouse(t, build(t), plan{http: fmt.Sprintf("{listen: %q, token: %s}", listen, apiToken)})
	d := h.start()
	defer d.stop()
	p := newPrograms(t, "http://"+listen)
	const chats, turns = 20, 10
	talk := func(room int) {
		for range turns {
			p.ask(byRoom, room)
		}
	}
	talk(0) // what the first turns of a process make stays
	before := metricsOf(t, listen, apiToken)
	for i := range chats {
		talk(1 + i)
	}
	after := metricsOf(t, listen, apiToken)
	each := func(name string) float64 { return (after[name] - before[name]) / (chats * turns) }
	bytes := each("go_memstats_alloc_bytes_total")
	objects := each("go_memstats_mallocs_total")
	commits := (committed(after) - committed(before)) / (chats * turns)
	t.Logf("a turn of the API allocates %.0f bytes in %.0f objects, and commits %.2f times", bytes, objects, commits)
	if bytes > mostAPIBytes || objects > mostAPIObjects || commits > mostAPICommits {
		t.Errorf("a turn of the API allocates %.0f bytes in %.0f objects and commits %.2f times, want at most %d in %d and %.2f",
			bytes, objects, commits, mostAPIBytes, mostAPIObjects, mostAPICommits)
	}
	if p.wrong.Load() > 0 || commits < 1 {
		t.Errorf("%d answers are wrong, %.2f commits a turn", p.wrong.Load(), commits)
	}
}

// allocated reads how much the daemon has allocated since it began.
func allocated(t *testing.T, addr, token string) (bytes, objects float64) {
	t.Helper()
	all := metricsOf(t, addr, token)
	bytes = all["go_memstats_alloc_bytes_total"]
	objects = all["go_memstats_mallocs_total"]
	if bytes == 0 || objects == 0 {
		t.Fatal("the metrics do not say what was allocated")
	}
	return bytes, objects
}

// metricsOf reads the daemon's metrics, by their names with labels.
func metricsOf(t *testing.T, addr, token string) map[string]float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET /metrics: %s, %v", res.Status, err)
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err == nil {
			all[line[:at]] = value
		}
	}
	return all
}

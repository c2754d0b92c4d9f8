package bench_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What a turn of the daemon may allocate in a chat of ten turns: a tenth more than it does.
// What is allocated has to be cleared and collected too, so this shows where CPU time
// goes, and unlike a time it does not depend on what else runs.
const (
	mostBytes   = 116_000
	mostObjects = 1_200
)

// TestAllocationsOfATurn asks the real binary one question after the other and reads from
// its metrics what that allocated, polls and deliveries included.
func TestAllocationsOfATurn(t *testing.T) {
	const token = "a token of sixteen letters"
	addr := unusedAddress(t)
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

// unusedAddress is one that nobody listens on at present.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// allocated reads how much the daemon has allocated since it began.
func allocated(t *testing.T, addr, token string) (bytes, objects float64) {
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
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		_, _ = fmt.Sscanf(line, "go_memstats_alloc_bytes_total %g", &bytes)
		_, _ = fmt.Sscanf(line, "go_memstats_mallocs_total %g", &objects)
	}
	if bytes == 0 || objects == 0 {
		t.Fatalf("the metrics (%s) do not say what was allocated", res.Status)
	}
	return bytes, objects
}

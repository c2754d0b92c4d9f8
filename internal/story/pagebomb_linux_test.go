package story_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A page that is made to need gigabytes costs one sentence: elements that are not closed are
// repeated in each of its paragraphs.
func TestPageBomb(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	listener, err := net.Listen("tcp", web+":80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/good" {
			fmt.Fprint(w, "<p>Tulips bloom.")
			return
		}
		fmt.Fprint(w, "<p>")
		for i := range 400 {
			fmt.Fprintf(w, "<font a=%d>", i)
		}
		fmt.Fprint(w, strings.Repeat("<p>x", 10_000))
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	h := newHouse(t, plan{})
	d := h.start()
	for path, want := range map[string]string{"good": "Tulips bloom.", "bomb": "the page cannot be read: it needs more memory or time"} {
		before := len(h.api.FromBot(ann.ID))
		h.tell(ann, `!tool web_fetch {"url":"http://`+web+"/"+path+`"}`)
		h.until("an answer about "+path, func() bool {
			all := h.api.FromBot(ann.ID)
			return len(all) > before && strings.Contains(all[len(all)-1], want)
		})
	}
	kB := d.memory(t, "VmHWM")
	t.Logf("the daemon had %d kB at most", kB)
	if kB > 250<<10 {
		t.Error("that is more than 250 MB")
	}
}

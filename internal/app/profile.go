package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/respond"
)

// profilePath is where the process is profiled, for the scope admin.
const profilePath = api.Root + "/debug/pprof/{profile}"

// How long a profile over time lasts, in seconds.
const (
	usualSeconds = 30
	mostSeconds  = 300
)

// A profile has names and addresses of code, and never what is in memory.

// profile answers with a profile in the format of `go tool pprof`: cpu or trace over some
// seconds, or the state of heap, goroutine and so on now.
func profile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("profile")
	switch name {
	case "cpu", "profile": // its name in net/http/pprof, which tools know
		over(w, r, pprof.StartCPUProfile, pprof.StopCPUProfile)
		return
	case "trace":
		over(w, r, trace.Start, trace.Stop)
		return
	}
	p := pprof.Lookup(name)
	if p == nil {
		respond.Refuse(w, &respond.Refusal{
			Status: http.StatusNotFound, Param: "profile", Sentence: "Profiles are cpu, trace, heap, allocs, goroutine, threadcreate, block and mutex.",
		})
		return
	}
	debug := 0
	if r.URL.Query().Get("debug") == "1" {
		debug = 1
	}
	head(w, name, debug)
	_ = p.WriteTo(w, debug) // the reader notices a broken connection
}

// over profiles for the time that the request asks for. There is one profile at a time.
func over(w http.ResponseWriter, r *http.Request, start func(io.Writer) error, stop func()) {
	seconds := usualSeconds
	if text := r.URL.Query().Get("seconds"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostSeconds {
			respond.Refuse(w, &respond.Refusal{Status: http.StatusBadRequest, Param: "seconds", Sentence: fmt.Sprintf("seconds is a number from 1 to %d.", mostSeconds)})
			return
		}
		seconds = n
	}
	head(w, r.PathValue("profile"), 0)
	out := &flushed{w: w}
	if err := start(out); err != nil {
		w.Header().Del("Content-Disposition")
		respond.Refuse(w, &respond.Refusal{Status: http.StatusTooManyRequests, Sentence: "Another profile is being made. Try again when it is over.", RetryAfter: usualSeconds * time.Second})
		return
	}
	defer stop()
	out.flush() // so that the reader knows that it has begun
	enough, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	<-enough.Done()
}

// flushed lets one goroutine flush what another writes.
type flushed struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (f *flushed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Write(p)
}

func (f *flushed) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = http.NewResponseController(f.w).Flush()
}

func head(w http.ResponseWriter, name string, debug int) {
	kind := "application/octet-stream"
	if debug > 0 {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.pprof"`)
}

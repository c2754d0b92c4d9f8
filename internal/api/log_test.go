package api_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/api"
	"dragoman/internal/logtail"
	"dragoman/internal/people"
)

// owner may read the log.
var owner = people.Principal{ID: "operator", Scope: people.Admin, Token: "owner"}

// logging is a server of a log, and who logs into it.
func logging() (http.Handler, *slog.Logger) {
	tail := &logtail.Tail{}
	_, o := streaming(seen{})
	o.Log = &api.LogTail{Tail: tail, Hide: strings.NewReplacer("hunter2", "<secret>").Replace}
	return api.New(o), slog.New(tail.Handler(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// record wants the next record of a stream.
func (l *listening) record(message string) (id string) {
	l.t.Helper()
	got, id := l.next()
	if !strings.Contains(got, `"message":"`+message+`"`) {
		l.t.Fatalf("the next record is %s, want %s", got, message)
	}
	return id
}

// Who follows the log gets the newest records and then each one as it is logged, those that
// they want, without secrets. They come back with the id of the last one, and learn what they
// missed.
func TestFollowLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := logging()
		log.Info("one")
		log.Debug("two")
		log.Info("three")
		l := listenTo(t, h, owner, "/log/events?level=info&limit=1", "")
		l.record("three")
		log.Debug("four")
		log.Warn("five", "err", "hunter2 is wrong", "key", "web:default")
		got, id := l.next()
		if !strings.Contains(got, `"message":"five","facts":{"err":"\u003csecret\u003e is wrong","key":"web:default"}`) || !strings.Contains(got, `"level":"warn"`) {
			t.Errorf("the record is %s", got)
		}
		time.Sleep(time.Minute)
		if got := l.block(); !strings.HasPrefix(got, ": beat") {
			t.Errorf("after a quiet minute there is %q", got)
		}
		l.close()
		log.Info("six")
		l = listenTo(t, h, owner, "/log/events", id)
		l.record("six")
		l.close()
		for range 2000 {
			log.Info("many")
		}
		l = listenTo(t, h, owner, "/log/events", id)
		got, _ = l.next()
		if !strings.Contains(got, `"lost":1001`) {
			t.Errorf("after two thousand records the first one is %s, want 1001 lost", got)
		}
		l.close()
		l = listenTo(t, h, owner, "/log/events", "another-7")
		got, _ = l.next()
		if !strings.Contains(got, `"message":"many"`) {
			t.Errorf("who comes from another process gets %s", got)
		}
		l.close()
	})
}

// A log has no records for those who ask wrongly or may not read it.
func TestLogRefused(t *testing.T) {
	h, _ := logging()
	as := func(who people.Principal) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
		})
	}
	operator := owner
	operator.Scope = people.Operate
	for path, want := range map[string]int{"/log?level=loud": 400, "/log?after=x": 400, "/log/events?after=7": 400, "/log?key=x": 400} {
		if w := asked(as(owner), "GET", api.Root+path, ""); w.Code != want {
			t.Errorf("GET %s = %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
	for _, path := range []string{"/log", "/log/events"} {
		if w := asked(as(operator), "GET", api.Root+path, ""); w.Code != http.StatusForbidden {
			t.Errorf("GET %s with the scope operate = %d, want 403", path, w.Code)
		}
	}
}

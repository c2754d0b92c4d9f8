package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/logtail"
	"dragoman/internal/setting"
)

// logger logs into a tail, from the level info on.
func logger() (*logtail.Tail, *slog.Logger) {
	tail := &logtail.Tail{}
	return tail, slog.New(tail.Handler(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})))
}

func all(*logtail.Record) bool { return true }

func messagesOf(records []logtail.Record) (list []string) {
	for _, r := range records {
		list = append(list, r.Message)
	}
	return list
}

// A record has its facts as text, those of With and of groups too. A level that is off is not
// kept, and a secret is not shown.
func TestFacts(t *testing.T) {
	tail, log := logger()
	secret := setting.NewSecret("hunter2hunter2")
	log.With("key", "irc:#go").WithGroup("net").Warn("lost",
		"err", errors.Join(errors.New("one"), errors.New("two")), "token", secret, "many", []setting.Secret{secret},
		slog.Group("peer", "port", 6697, "took", time.Second), "long", strings.Repeat("é", 3000))
	log.Debug("not logged")
	got := tail.Newest(10, all)
	if len(got) != 1 {
		t.Fatalf("there are %d records, want one: %v", len(got), got)
	}
	if strings.Contains(fmt.Sprint(got), "hunter2") {
		t.Errorf("the record shows a secret: %v", got)
	}
	r := got[0]
	for name, want := range map[string]string{
		"key": "irc:#go", "net.err": "one; two", "net.token": "<secret>", "net.peer.port": "6697", "net.peer.took": "1s", "net.none": "",
	} {
		if r.Fact(name) != want {
			t.Errorf("the fact %s is %q, want %q", name, r.Fact(name), want)
		}
	}
	if r.Level != slog.LevelWarn || r.Message != "lost" || r.At.IsZero() || r.N != 1 {
		t.Errorf("the record is %+v", r)
	}
	if long := r.Fact("net.long"); len(long) > 2100 || !strings.HasSuffix(long, "é…") {
		t.Errorf("a long fact has %d bytes", len(long))
	}
}

// The memory is bounded by the number of records and by their bytes, and a reader learns how
// many were dropped.
func TestBounds(t *testing.T) {
	tail, log := logger()
	for i := range 1500 {
		log.Info(fmt.Sprint(i))
	}
	if n := len(tail.Newest(5000, all)); n != 1000 {
		t.Errorf("%d records are kept, want 1000", n)
	}
	found, upTo, lost := tail.After(200, 2, all)
	if diff := cmp.Diff([]string{"500", "501"}, messagesOf(found)); diff != "" || upTo != 502 || lost != 300 {
		t.Errorf("After(200) = %v, %d, %d", messagesOf(found), upTo, lost)
	}
	found, upTo, lost = tail.After(upTo, 2, all)
	if diff := cmp.Diff([]string{"502", "503"}, messagesOf(found)); diff != "" || lost != 0 {
		t.Errorf("After(502) = %v, %d, %d", messagesOf(found), upTo, lost)
	}
	for range 500 {
		log.Info("long", "text", strings.Repeat("x", 2000))
	}
	if n := len(tail.Newest(5000, all)); n < 100 || n > 130 {
		t.Errorf("%d records of 2 KB are kept, want 256 KB of them", n)
	}
}

// What a reader does not want is passed over, and not looked at again.
func TestKeep(t *testing.T) {
	tail, log := logger()
	for i := range 10 {
		log.Info(fmt.Sprint(i), "n", i%2)
	}
	odd := func(r *logtail.Record) bool { return r.Fact("n") == "1" }
	if got := messagesOf(tail.Newest(2, odd)); !cmp.Equal(got, []string{"7", "9"}) {
		t.Errorf("the newest odd ones are %v", got)
	}
	found, upTo, _ := tail.After(0, 2, odd)
	if got := messagesOf(found); !cmp.Equal(got, []string{"1", "3"}) || upTo != 4 {
		t.Errorf("the first odd ones are %v, up to %d", got, upTo)
	}
	found, upTo, _ = tail.After(4, 100, func(*logtail.Record) bool { return false })
	if len(found) != 0 || upTo != 10 {
		t.Errorf("of nothing wanted, %v was found up to %d, want nothing up to 10", found, upTo)
	}
	if found, _, _ := tail.After(99, 100, all); len(found) != 10 {
		t.Errorf("after a number of another process there are %d records, want all", len(found))
	}
}

// A reader who waits is woken by the next record, however many wait.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tail, log := logger()
		log.Info("one")
		if err := tail.Wait(t.Context(), 0); err != nil {
			t.Errorf("Wait for what is there = %v", err)
		}
		woken := make(chan error, 2)
		for range 2 {
			go func() { woken <- tail.Wait(t.Context(), tail.Last()) }()
		}
		synctest.Wait()
		select {
		case err := <-woken:
			t.Fatalf("Wait = %v before there was anything", err)
		default:
		}
		log.Info("two")
		for range 2 {
			if err := <-woken; err != nil {
				t.Errorf("Wait = %v", err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := tail.Wait(short, tail.Last()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait without news = %v", err)
		}
	})
}

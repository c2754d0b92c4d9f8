package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/web"
)

func probe(h http.Handler, target string, change ...func(*http.Request)) (int, map[string]any) {
	r := httptest.NewRequest("GET", target, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8787", "127.0.0.1:5000"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &body)
	return w.Code, body
}

func TestHealth(t *testing.T) {
	var failing error
	checks := 0
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := web.Probes(web.ProbeOptions{
		Check: func(ctx context.Context) error {
			checks++
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the check has no deadline")
			}
			return failing
		},
		Now: func() time.Time { return clock },
	})
	if code, body := probe(h, "/healthz"); code != 200 || body["status"] != "ok" {
		t.Errorf("healthz = %d %v", code, body)
	}
	failing = fmt.Errorf("sqlite: check: %w", syscall.ENOSPC)
	if code, _ := probe(h, "/healthz"); code != 200 || checks != 1 {
		t.Errorf("healthz = %d after %d checks, want the remembered 200", code, checks)
	}
	clock = clock.Add(6 * time.Second)
	code, body := probe(h, "/healthz")
	if code != 503 || !strings.HasPrefix(body["reason"].(string), "The disk is full") {
		t.Errorf("healthz = %d %v, want the disk to be full", code, body)
	}
	failing = nil
	clock = clock.Add(-time.Hour) // the clock was set back
	if code, _ := probe(h, "/healthz"); code != 200 {
		t.Errorf("healthz = %d after the clock was set back, want 200", code)
	}
}

func TestHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := web.Probes(web.ProbeOptions{Check: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		code, body := probe(h, "/healthz")
		if code != 503 || body["reason"] != "The store does not answer in time." {
			t.Errorf("healthz = %d %v", code, body)
		}
	})
}

func TestReady(t *testing.T) {
	ready := errors.New("starting")
	h := web.Probes(web.ProbeOptions{
		Check: func(context.Context) error { return nil },
		Ready: func() error { return ready },
		Channels: func() map[string]channels.Status {
			return map[string]channels.Status{"irc": {State: channels.StateDown, Detail: "connection refused"}}
		},
	})
	code, body := probe(h, "/readyz")
	if code != 503 || body["reason"] != "starting" {
		t.Errorf("readyz = %d %v", code, body)
	}
	ready = nil
	code, body = probe(h, "/readyz")
	if code != 200 || body["status"] != "ready" || body["channels"].(map[string]any)["irc"] == nil {
		t.Errorf("readyz = %d %v", code, body)
	}
}

// A load balancer has no token, and a stranger learns nothing from it.
func TestProbesForStrangers(t *testing.T) {
	known := false
	h := web.Probes(web.ProbeOptions{
		Check:    func(context.Context) error { return errors.New("disk is full") },
		Channels: func() map[string]channels.Status { return map[string]channels.Status{"irc": {}} },
		Knows:    func(*http.Request) bool { return known },
	})
	for path, want := range map[string]string{"/healthz": "failing", "/readyz": "not ready"} {
		known = false
		if code, body := probe(h, path); code != 503 || len(body) != 1 || body["status"] != want {
			t.Errorf("a stranger reads %d %v of %s, want 503 and the status alone", code, body, path)
		}
		known = true
		if _, body := probe(h, path); body["reason"] == nil {
			t.Errorf("who is known reads %v of %s, want the reason", body, path)
		}
	}
}

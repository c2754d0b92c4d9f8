package telegram_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/telegram"
)

// script is a Bot API without sockets, for tests in a synctest bubble. It answers each
// poll with the next of lines, repeats the last one, and records when polls came.
type script struct {
	mu    sync.Mutex
	lines []string
	polls []time.Duration
	began time.Time
	// linger is how long setMyCommands continues after its context has ended.
	linger time.Duration
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	body := `{"ok":true,"result":{"id":1,"is_bot":true,"username":"dragoman_bot"}}`
	if method == "setMyCommands" {
		<-r.Context().Done()
		time.Sleep(s.linger)
	}
	if method == "sendMessage" {
		body = `{"ok":true,"result":{"message_id":1}}`
	}
	if method == "getUpdates" {
		s.mu.Lock()
		s.polls = append(s.polls, time.Since(s.began).Round(time.Second))
		body = s.lines[0]
		if len(s.lines) > 1 {
			s.lines = s.lines[1:]
		}
		s.mu.Unlock()
		if body == "hang" {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), Request: r, Header: http.Header{}}, nil
}

func (s *script) client() *http.Client { return &http.Client{Transport: s} }

func (s *script) times() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Duration(nil), s.polls...)
}

const (
	conflict = `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`
	nothing  = `{"ok":true,"result":[]}`
	failure  = `{"ok":false,"error_code":500,"description":"Internal Server Error"}`
)

// play runs a channel against lines for the given time and returns the script and the
// last status.
func play(t *testing.T, runtime time.Duration, lines ...string) (*script, channels.Status) {
	t.Helper()
	s := &script{lines: lines, began: time.Now()}
	c, err := telegram.New("telegram", telegram.Options{Token: "1:x", HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, channeltest.NewInbox()) }()
	time.Sleep(runtime) // in the bubble
	synctest.Wait()
	status := c.Status()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	return s, status
}

func TestConflictPausesPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, status := play(t, 100*time.Second, conflict)
		if status.State != channels.StateDown || !strings.Contains(status.Detail, "another program polls") {
			t.Errorf("Status = %+v, want down because of another program", status)
		}
		late := 0
		var before time.Duration
		for _, at := range s.times() {
			if at > 7*time.Second {
				late++
				if at-before < 29*time.Second {
					t.Errorf("polls at %s and %s, want 30 s between them", before, at)
				}
			}
			before = at
		}
		if late < 2 || late > 4 {
			t.Errorf("polls at %v, want one every 30 s after the start", s.times())
		}
	})
}

// If several nodes share the bot, a second poller ends Run.
func TestConflictOnASharedBot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{lines: []string{conflict}, began: time.Now()}
		c, err := telegram.New("telegram", telegram.Options{Token: "1:x", HTTP: s.client(), Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), channeltest.NewInbox()); !errors.Is(err, channels.ErrElsewhere) || time.Since(s.began) < 3*time.Second || time.Since(s.began) > 20*time.Second {
			t.Errorf("Run = %v after %s, want ErrElsewhere after 3 to 20 s", err, time.Since(s.began))
		}
	})
}

func TestConflictAtStartIsRetriedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, status := play(t, 2*time.Second, conflict, nothing, "hang")
		if status.State != channels.StateConnected {
			t.Errorf("Status 2 s after one conflict = %+v, want connected", status)
		}
	})
}

func TestPausesGrowToAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := play(t, time.Hour, failure)
		polls := s.times()
		if n := len(polls); n < 60 || n > 150 {
			t.Errorf("%d polls of a failing server in an hour, want about 80", n)
		}
		for i := len(polls) - 1; i > len(polls)-10; i-- {
			if gap := polls[i] - polls[i-1]; gap < 29*time.Second || gap > 61*time.Second {
				t.Errorf("a pause of %s, want 30 to 60 s", gap)
			}
		}
	})
}

func TestHangingPollIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := play(t, 10*time.Minute, nothing, "hang")
		if n := len(s.times()); n < 5 {
			t.Errorf("%d polls in ten minutes of a server that never answers, want about one a minute", n)
		}
	})
}

func TestRunWaitsForItsGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{lines: []string{nothing, "hang"}, linger: time.Second}
		c, err := telegram.New("telegram", telegram.Options{Token: "1:x", HTTP: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		c.SetCommands(channels.Menu{Private: []channels.Command{{Name: "new", Help: "begin again"}}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := c.Run(ctx, channeltest.NewInbox()); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("Run returned after %s, but one of its goroutines worked until 2 s", took)
		}
	})
}

func TestPreviewsInGroupsAreSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := telegram.New("telegram", telegram.Options{Token: "1:x", HTTP: &http.Client{Transport: &script{}}})
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]int{}
		for range 12 {
			for _, chat := range []string{"telegram:7", "telegram:-5"} {
				if _, err := c.Preview(t.Context(), channels.Preview{Key: channels.MustKey(chat), Text: "x"}); err == nil {
					shown[chat]++
				}
			}
			time.Sleep(time.Second)
		}
		if shown["telegram:7"] != 12 || shown["telegram:-5"] != 4 {
			t.Errorf("previews in 12 s = %v, want 12 and 4", shown)
		}
	})
}

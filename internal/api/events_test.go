package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/internal/web"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// seen are whose talks somebody sees, by key.
type seen map[channels.Key]people.Sight

func (s seen) Of(_ context.Context, _ people.Principal, k channels.Key) (people.Sight, error) {
	return s[k], nil
}

func (s seen) Read(ctx context.Context, p people.Principal, k channels.Key) (people.Sight, error) {
	return s.Of(ctx, p, k)
}

func (seen) Mine(context.Context, people.Principal) ([]string, error) { return nil, nil }

var (
	annsTalk = channels.MustKey("telegram:1")
	bobsTalk = channels.MustKey("telegram:2")
)

// listening is somebody who listens to events.
type listening struct {
	t     *testing.T
	body  *bufio.Reader
	close func()
}

// listen asks for events. The first event has arrived when it returns.
func listen(t *testing.T, h http.Handler, who people.Principal, query, last string) *listening {
	t.Helper()
	return listenTo(t, h, who, "/events"+query, last)
}

// listenTo is listen to a stream at a path.
func listenTo(t *testing.T, h http.Handler, who people.Principal, path, last string) *listening {
	t.Helper()
	as := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", api.Root+path, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := api.RoundTrip(as, r)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("GET %s = %d %s", path, resp.StatusCode, got)
	}
	l := &listening{t: t, body: bufio.NewReader(resp.Body), close: func() { cancel(); _ = resp.Body.Close() }}
	t.Cleanup(l.close)
	if got := l.block(); got != "retry: 2000" {
		t.Errorf("the stream begins with %q", got)
	}
	return l
}

// block reads up to an empty line.
func (l *listening) block() string {
	l.t.Helper()
	var lines []string
	for {
		line, err := l.body.ReadString('\n')
		if err != nil {
			return strings.Join(append(lines, err.Error()), "\n")
		}
		if line == "\n" {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

// next is the next event in short, and its id.
func (l *listening) next() (short, id string) {
	l.t.Helper()
	for line := range strings.SplitSeq(l.block(), "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			id = value
		case "data":
			short = value
		}
	}
	return short, id
}

func (l *listening) want(event, about string) (id string) {
	l.t.Helper()
	got, id := l.next()
	if !strings.HasPrefix(got, `{"event":"`+event+`"`) || !strings.Contains(got, about) {
		l.t.Fatalf("the next event = %s, want %s with %s", got, event, about)
	}
	return id
}

// streaming is a server of events about the talks that somebody sees.
func streaming(reads api.Reads) (*stream.Hub, api.Options) {
	hub := stream.New(stream.Options{})
	return hub, api.Options{
		Listening: hub, Reads: reads,
		Approve: func(context.Context, string, time.Time) (sessions.Pairing, error) { panic("nobody is let in here") },
	}
}

func accepted(k channels.Key, seq int64) stream.Event {
	return stream.Event{Event: stream.MessageAccepted, Key: k, Seq: seq, ID: fmt.Sprint("m", seq)}
}

var ann = people.Principal{ID: "telegram:1", Scope: people.Chat, Token: "ann"}

// One stream has all that its caller may see when it happens.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		see := seen{annsTalk: {May: true, Own: true}}
		hub, o := streaming(see)
		h := api.New(o)
		l := listen(t, h, ann, "", "")
		l.want("hello", "")
		hub.Publish(accepted(bobsTalk, 1))
		hub.Publish(stream.Event{Event: stream.ModelDown, Model: "m"})
		hub.Publish(stream.Event{Event: stream.Text, Key: annsTalk, Turn: "t", Text: "Hel\nlo"})
		if id := l.want("text", `"text":"Hel\nlo","turn":"t"`); id != "" {
			t.Error("what may be lost has an id")
		}
		hub.Publish(accepted(annsTalk, 2))
		l.want("message_accepted", `"key":"telegram:1","seq":2,"id":"m2"`)

		see[annsTalk] = people.Sight{}
		hub.Publish(accepted(annsTalk, 3))
		synctest.Wait()
		see[annsTalk] = people.Sight{May: true, Along: true} // nobody is told of a stream of all
		hub.Publish(accepted(annsTalk, 4))
		synctest.Wait()
		see[annsTalk] = people.Sight{May: true}
		hub.Publish(accepted(annsTalk, 5))
		l.want("message_accepted", `"seq":5`)
		l.close()

		see[annsTalk] = people.Sight{May: true, Along: true}
		l = listen(t, h, people.Principal{ID: "x", Scope: people.Read}, "", "")
		named := listen(t, h, people.Principal{ID: "x", Scope: people.Read}, "?key=telegram:1", "")
		l.want("hello", "")
		named.want("hello", "")
		hub.Publish(accepted(annsTalk, 6))
		hub.Publish(stream.Event{Event: stream.ModelBack, Model: "m"})
		l.want("model_back", `"model":"m"`)
		named.want("message_accepted", `"seq":6`)
	})
}

// Of a conversation that the caller may not read no event comes, whatever its name and the
// caller's scope.
func TestEventsOfOthers(t *testing.T) {
	byScope := []stream.Name{
		stream.JobDone, stream.JobChange, stream.PairingChange, stream.PeopleChange, stream.TokenChange, stream.SettingsChange, // see TestListsAreToldByScope
		stream.ApprovalChange, // whoever may decide is told, without words
	}
	synctest.Test(t, func(t *testing.T) {
		hub, o := streaming(seen{annsTalk: {May: true, Own: true}})
		for _, scope := range people.Scopes() {
			l := listen(t, api.New(o), people.Principal{ID: "telegram:1", Scope: scope, Token: "x"}, "", "")
			l.want("hello", "")
			for _, one := range api.EventTypes() {
				name := stream.Name(one.Name)
				if name != stream.Reset && !slices.Contains(byScope, name) {
					hub.Publish(stream.Event{Event: name, Key: bobsTalk, Seq: 1, ID: "b", Text: "a secret"})
				}
			}
			hub.Publish(accepted(annsTalk, 2))
			l.want("message_accepted", `"seq":2`)
			l.close()
		}
	})
}

// After a break the caller gets what it missed, by the header or by the argument.
func TestEventsAfterABreak(t *testing.T) {
	hub, o := streaming(seen{annsTalk: {May: true, Own: true}})
	h := api.New(o)
	l := listen(t, h, ann, "", "")
	id := l.want("hello", "")
	l.close()
	hub.Publish(accepted(annsTalk, 1))
	hub.Publish(accepted(annsTalk, 2))
	l = listen(t, h, ann, "?after="+id, "")
	l.want("hello", "")
	id = l.want("message_accepted", `"seq":1`)
	l.close()
	l = listen(t, h, ann, "", id)
	l.want("hello", "")
	l.want("message_accepted", `"seq":2`)
	for i := range int64(stream.MaxMissed + 1) {
		hub.Publish(accepted(annsTalk, 10+i))
	}
	l = listen(t, h, ann, "", id)
	l.want("hello", "")
	if l.want("reset", "") == "" {
		t.Error("a reset has no id, so the caller would be told again")
	}
}

// Filters are by conversation and by type.
func TestEventFilters(t *testing.T) {
	hub, o := streaming(seen{annsTalk: {May: true}, bobsTalk: {May: true}})
	h := api.New(o)
	key := listen(t, h, ann, "?key=telegram:2", "")
	types := listen(t, h, ann, "?type=text&type=turn_done", "")
	key.want("hello", "")
	types.want("hello", "")
	hub.Publish(accepted(annsTalk, 1))
	hub.Publish(accepted(bobsTalk, 2))
	hub.Publish(stream.Event{Event: stream.TurnDone, Key: annsTalk, Outcome: "answered"})
	key.want("message_accepted", `"seq":2`)
	types.want("turn_done", `"key":"telegram:1"`)

	for query, want := range map[string]struct {
		status int
		param  string
	}{
		"?type=nothing": {400, `"param":"type"`}, "?type=hello": {400, `"param":"type"`}, "?after=x": {400, `"param":"after"`},
		"?key=telegram:3": {404, `"param":null`}, "?key=x": {400, `"param":"key"`}, "?since=1": {400, `"param":"since"`},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", api.Root+"/events"+query, nil)
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), ann)))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.param) {
			t.Errorf("GET /events%s = %d %s, want %d with %s", query, w.Code, w.Body, want.status, want.param)
		}
	}
	w := asked(api.New(optionsOf(filled(t))), "GET", api.Root+"/events", "")
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("without a daemon = %d %s, want 503", w.Code, w.Body)
	}
}

// A quiet stream shows every 15 seconds that it lives, and where it is.
func TestEventsBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, o := streaming(seen{annsTalk: {May: true}})
		h := api.New(o)
		l := listen(t, h, ann, "?type=text", "")
		first := l.want("hello", "")
		begun := time.Now()
		hub.Publish(accepted(annsTalk, 1)) // it is not wanted, and moves the id all the same
		beat := l.block()
		if took := time.Since(begun); took != 15*time.Second {
			t.Errorf("a sign of life after %v", took)
		}
		comment, id, _ := strings.Cut(beat, "\n")
		if comment != ": beat" || !strings.HasPrefix(id, "id: ") || id == "id: "+first {
			t.Errorf("the sign of life is %q", beat)
		}
		l.close()
		synctest.Wait()
		if n := hub.Listeners(); n != 0 {
			t.Errorf("%d listen after the caller has gone", n)
		}
	})
}

// Whoever reads too slowly, and everybody when the daemon stops, is told why it ends.
func TestEventsTellWhyTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, o := streaming(seen{annsTalk: {May: true}})
		stopping := make(chan struct{})
		o.Stopping = stopping
		h := api.New(o)
		slow, other := listen(t, h, ann, "", ""), listen(t, h, ann, "?type=job_done", "")
		other.want("hello", "")
		for i := range int64(600) {
			hub.Publish(accepted(annsTalk, i+1))
			if i == 0 {
				synctest.Wait() // the stream writes, and nobody reads
			}
		}
		slow.want("hello", "")
		slow.want("message_accepted", `"seq":1`)
		slow.want("ended", `"why":"slow"`)
		if got := slow.block(); got != "EOF" {
			t.Errorf("after the end comes %q", got)
		}
		close(stopping)
		other.want("ended", `"why":"stopping"`)
	})
}

// Whoever loses access while they listen is told so, and gets nothing afterwards.
func TestEventsEndWithTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, o := streaming(seen{annsTalk: {May: true}})
		ctx, revoke := context.WithCancelCause(t.Context())
		defer revoke(nil)
		h := api.New(o)
		l := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(people.With(ctx, ann)))
		}), ann, "", "")
		l.want("hello", "")
		revoke(web.ErrAccessEnded)
		synctest.Wait()
		hub.Publish(accepted(annsTalk, 1))
		l.want("ended", `"why":"token"`)
		if got := l.block(); got != "EOF" {
			t.Errorf("after the end comes %q", got)
		}
	})
}

// One person's streams leave room for everybody else's, and the socket is never full.
func TestShareOfStreams(t *testing.T) {
	_, o := streaming(seen{})
	h := api.New(o)
	for range 32 {
		listen(t, h, ann, "", "")
	}
	r := httptest.NewRequestWithContext(people.With(t.Context(), ann), "GET", api.Root+"/events", nil)
	refused, err := api.RoundTrip(h, r)
	defer closeBody(refused)
	if err != nil || refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many = %v, %v, want 429 with Retry-After", refused, err)
	}
	for i := range 7 {
		for range 32 {
			listen(t, h, people.Principal{ID: fmt.Sprint("telegram:", i+10), Scope: people.Chat, Token: "one"}, "", "")
		}
	}
	bob := people.Principal{ID: "telegram:2", Scope: people.Chat, Token: "bob"}
	r = httptest.NewRequestWithContext(people.With(t.Context(), bob), "GET", api.Root+"/events", nil)
	full, err := api.RoundTrip(h, r)
	defer closeBody(full)
	if err != nil || full.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a stream when the port is full = %v, %v, want 503", full, err)
	}
	listen(t, h, people.Principal{ID: people.OperatorID, Scope: people.Admin}, "", "")
}

func closeBody(r *http.Response) {
	if r != nil {
		_ = r.Body.Close()
	}
}

// The command line reads the same stream.
func TestClientEvents(t *testing.T) {
	hub := stream.New(stream.Options{})
	o := optionsOf(filled(t))
	o.Listening = hub
	clients(t, func() api.Options { return o }, func(t *testing.T, c *api.Client) {
		enough := errors.New("enough")
		var got []string
		err := c.Events(t.Context(), api.EventQuery{Key: []channels.Key{annsTalk}}, func(e api.Event, id string) error {
			got = append(got, fmt.Sprint(e.Event, " ", e.Seq, " ", id != ""))
			if e.Event == "hello" {
				hub.Publish(stream.Event{Event: stream.Text, Key: annsTalk, Text: "a\nb"})
				hub.Publish(stream.Event{Event: stream.DeliveryChanged, Key: annsTalk, Seq: 7, State: sessions.DeliverySent})
				return nil
			}
			if e.Seq == 7 {
				return enough
			}
			return nil
		})
		want := []string{"hello 0 true", "text 0 false", "delivery_changed 7 true"}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, enough) {
			t.Errorf("Events = %v, (-want +got):\n%s", err, diff)
		}
	})
}

// That a list is another one is told to those whom it is shown to.
func TestListsAreToldByScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, o := streaming(seen{})
		h := api.New(o)
		lists := map[string][]string{
			"chat":    {"telegram:1/r2"},
			"read":    {"telegram:1/r2", "channel_change", "measured"},
			"operate": {"telegram:1/r2", "telegram:2/r1", "people_change", "channel_change", "measured"},
			"admin":   {"telegram:1/r2", "telegram:2/r1", "people_change", "token_change", "settings_change", "channel_change", "measured"},
		}
		for scope, want := range lists {
			l := listen(t, h, people.Principal{ID: "telegram:1", Scope: people.Scope(scope), Token: "x"}, "", "")
			l.want("hello", "")
			for _, job := range []string{"telegram:1/r2", "telegram:2/r1"} {
				hub.Publish(stream.Event{Event: stream.JobChange, Job: job})
			}
			for _, e := range []stream.Name{stream.PeopleChange, stream.TokenChange, stream.SettingsChange, stream.ChannelChange, stream.Measured} {
				hub.Publish(stream.Event{Event: e})
			}
			hub.Publish(stream.Event{Event: stream.JobChange}) // of several, which all are told
			for _, one := range want {
				if strings.Contains(one, "/") {
					l.want("job_change", `"job":"`+one+`"`)
				} else {
					l.want(one, "")
				}
			}
			l.want("job_change", "")
			l.close()
		}
	})
}

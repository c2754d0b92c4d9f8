package app_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/storage"
	"dragoman/sessions"
	"dragoman/sessions/sqlite"
)

// fillOlder puts conversations into the store at path as a former version left them: nobody
// has noted who wrote in them.
func fillOlder(t *testing.T, path string, keys ...string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list []sessions.Record
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, name := range keys {
		k := channels.MustKey(name)
		list = append(list,
			sessions.Record{Conversation: &sessions.ConversationRecord{Key: k, Created: at, Updated: at}},
			sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{
				{Role: sessions.RoleUser, Content: "hello from " + name, Sender: "42", At: at},
			}}})
	}
	_, err = s.Restore(t.Context(), func() (r sessions.Record, err error) {
		if len(list) == 0 {
			return r, io.EOF
		}
		r = list[0]
		list = list[1:]
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOlderConversationsGetOwners: in the background, after an update.
func TestOlderConversationsGetOwners(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.run().stop()
	fillOlder(t, p.state("dragoman.db"), "telegram:42", "telegram:-5", "web:default")
	r := p.run()
	r.until("the owners", func() bool { return strings.Contains(r.log.String(), "found out who wrote in older conversations") })
	r.stop()
	s, err := sqlite.Open(t.Context(), p.state("dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for k, private := range map[string]bool{"telegram:42": true, "telegram:-5": false} {
		got, err := s.Owners(t.Context(), channels.MustKey(k))
		if err != nil || len(got) != 1 || got[0].Identities[0] != "telegram:42" || got[0].Private != private {
			t.Errorf("Owners of %s = %+v, %v", k, got, err)
		}
	}
	mine, err := s.Find(t.Context(), sessions.Query{Owners: []string{"telegram:42"}})
	if err != nil || len(mine) != 2 {
		t.Errorf("their conversations are %v, %v", mine, err)
	}
}

// TestSocketReadingIsRecorded: what others wrote in private, not one's own room.
func TestSocketReadingIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.run().stop()
	fillOlder(t, p.state("dragoman.db"), "telegram:42")
	r := p.run()
	r.ask(r.page("default"), "what can you do?")
	for _, k := range []string{"web:default", "telegram:42", "telegram:42"} {
		got, err := api.ReadMessages.Call(t.Context(), r.admin, api.Part{Key: channels.MustKey(k)})
		if err != nil || len(got.Data) == 0 {
			t.Fatalf("ReadMessages(%s) = %v, %v", k, got, err)
		}
	}
	log, err := os.ReadFile(p.state("audit.log"))
	if err != nil || strings.Count(string(log), `"action":"read"`) != 1 || strings.Count(string(log), `"by":"operator"`) != 1 || strings.Contains(string(log), "hello") {
		t.Errorf("the audit log: %v\n%s", err, log)
	}
}

// TestSocketFindingIsRecorded: what is found, copied or waits is read, too, also while
// the daemon is stopped.
func TestSocketFindingIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.run().stop()
	fillOlder(t, p.state("dragoman.db"), "telegram:42", "telegram:43")
	s, err := sqlite.Open(t.Context(), p.state("dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	waiting := channels.Inbound{Key: channels.MustKey("telegram:44"), ID: "1", Text: "waiting", Sender: channels.Person{IDs: []string{"44"}}, Private: true}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: waiting}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readings := 0
	for _, c := range []struct {
		what string
		want int
		do   func(*api.Client) error
	}{
		{"a list", 0, func(c *api.Client) error {
			_, err := api.Find.Call(t.Context(), c, api.ConversationQuery{})
			return err
		}},
		{"a search that finds nothing", 0, func(c *api.Client) error {
			_, err := api.SearchAll.Call(t.Context(), c, api.Search{Query: "nowhere"})
			return err
		}},
		{"a search", 2, func(c *api.Client) error {
			_, err := api.SearchAll.Call(t.Context(), c, api.Search{Query: "hello"})
			return err
		}},
		{"the queue", 0, func(c *api.Client) error {
			_, err := api.ListQueue.Call(t.Context(), c, api.QueueQuery{})
			return err
		}},
		{"an entry of the queue", 1, func(c *api.Client) error {
			_, err := api.ShowQueue.Call(t.Context(), c, api.Item{ID: "in/telegram:44/1"})
			return err
		}},
		{"a copy", 1, func(c *api.Client) error {
			return c.Dump(t.Context(), nil, func(sessions.Record) error { return nil })
		}},
	} {
		stopped, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Verb: "test"})
		if err != nil {
			t.Fatal(err)
		}
		err = c.do(stopped)
		release()
		log, _ := os.ReadFile(p.state("audit.log"))
		all := strings.Count(string(log), `"action":"read"`)
		if err != nil || all-readings != c.want || strings.Count(string(log), `"by":"operator"`) != all {
			t.Errorf("%s: %v, %d readings in the audit log, want %d:\n%s", c.what, err, all-readings, c.want, log)
		}
		readings = all
	}
}

// TestReadAlongTellsEveryChat: each conversation of a channel is told once before it is
// read, and the audit log says who reads.
func TestReadAlongTellsEveryChat(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "people: {read_along: true}")
	p.run().stop()
	rooms := []string{"web:telegram:42/x", "web:telegram:43/y"}
	fillOlder(t, p.state("dragoman.db"), rooms...)
	r := p.run()
	desk := r.token("desk", "", "read")
	for range 2 {
		for _, room := range rooms {
			var got api.Page[api.Message]
			refused := r.request("GET", "/api/v1/conversations/"+url.PathEscape(room)+"/messages", desk, "", &got)
			if refused != nil || len(got.Data) == 0 {
				t.Fatalf("%s is read as %+v, %v", room, got, refused)
			}
		}
	}
	for _, room := range rooms {
		person, name, _ := strings.Cut(strings.TrimPrefix(room, "web:"), "/")
		page := r.page(name)
		page.Header.Set("Authorization", "Bearer "+r.token("own"+name, person, "chat"))
		told := 0
		for _, item := range r.feed(page) {
			if strings.Contains(item.Text, "can also read this conversation") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%s was told %d times, want once", room, told)
		}
	}
	log, err := os.ReadFile(p.state("audit.log"))
	reads := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, `"action":"read"`) && strings.Contains(line, `"by":"desk"`) {
			reads++
		}
	}
	if err != nil || reads != 2 {
		t.Errorf("the audit log has %d readings by desk, want 2: %v\n%s", reads, err, log)
	}
}

// TestErasingSomebodyErasesTheirRooms, and nobody else's.
func TestErasingSomebodyErasesTheirRooms(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.run().stop()
	s, err := sqlite.Open(t.Context(), p.state("dragoman.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, id := range map[string]string{"web:telegram:42/x": "telegram:42", "web:telegram:43/x": "telegram:43", "web:default": "owner"} {
		m := channels.Inbound{Key: channels.MustKey(key), ID: "m" + key, Text: "hello", Sender: channels.Person{IDs: []string{id}}, Private: true}
		e := sessions.Entry{Inbound: m, Answered: true, Append: []sessions.Message{sessions.UserMessage(m)}}
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := p.run()
	plan, err := api.PlanErase.Call(t.Context(), r.admin, api.Target{Name: "telegram:42"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Erase.Call(t.Context(), r.admin, plan.Erasure); err != nil {
		t.Fatal(err)
	}
	list, err := api.Find.Call(t.Context(), r.admin, api.ConversationQuery{})
	var left []string
	for _, c := range list.Data {
		left = append(left, c.Key.String())
	}
	slices.Sort(left)
	if err != nil || !slices.Equal(left, []string{"web:default", "web:telegram:43/x"}) {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestReachableWithNamedTokens: an address that other machines can reach needs a token, and
// a named one is enough.
func TestReachableWithNamedTokens(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "http: {listen: '0.0.0.0:0'}")
	if got := p.refused(); !strings.Contains(got, "there is no token: make one with dragoman token create NAME --scope chat, set http.token, or listen on 127.0.0.1") {
		t.Errorf("without a token: %s", got)
	}
	stopped, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Verb: "token create"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := api.CreateToken.Call(t.Context(), stopped, api.NewToken{Name: "laptop", Scope: "chat", ExpiresIn: 3600})
	release()
	if err != nil {
		t.Fatal(err)
	}
	r := p.run()
	port := r.status().Listen[strings.LastIndexByte(r.status().Listen, ':'):]
	for secret, want := range map[string]int{"": http.StatusUnauthorized, made.Secret: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+port+"/api/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		if secret != "" {
			req.Header.Set("Authorization", "Bearer "+secret)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.Body.Close() != nil || resp.StatusCode != want {
			t.Errorf("with %d characters of a token: %+v, %v, want %d", len(secret), resp, err, want)
		}
	}
}

// TestLinkingOnThePageIsAudited, with the name of whoever does it.
func TestLinkingOnThePageIsAudited(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	desk := r.token("desk", "", "admin")
	for method, what := range map[string]string{"POST": "link", "DELETE": "unlink"} {
		_ = r.request(method, "/api/v1/channels/nothing/link", desk, "{}", new(any)) // it fails
		log, err := os.ReadFile(r.state("audit.log"))
		for _, state := range []string{"begun", "failed"} {
			want := `"action":"` + what + `","state":"` + state + `","name":"nothing","by":"desk"`
			if err != nil || !strings.Contains(string(log), want) {
				t.Errorf("the audit log lacks %s: %v\n%s", want, err, log)
			}
		}
	}
}

// TestNobodysTokens: neither a token nor a joined identity is somebody's whom no channel
// could report.
func TestNobodysTokens(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	for id, why := range map[string]string{
		"Telegram:77":     "there is no channel Telegram",
		"matrix:x":        "there is no channel matrix",
		"web:x":           "is a room",
		"cli:direct":      "is a room",
		"telegram:@ann":   "is a username",
		"telegram:-1001":  "is a group",
		"telegram:chat:7": "several people",
		"irc:account:Ann": "account:ann",
		"whatsapp:12":     "not a complete phone number",
	} {
		_, err := api.CreateToken.Call(t.Context(), r.admin, api.NewToken{Name: "laptop", Person: id, Scope: "chat"})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a token of %s: %v, want that it says %q", id, err, why)
		}
		err = api.JoinPeople.Call(t.Context(), r.admin, api.Identities{One: "telegram:77", Other: id})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("telegram:77 joined with %s: %v, want that it says %q", id, err, why)
		}
	}
	if err := api.JoinPeople.Call(t.Context(), r.admin, api.Identities{One: "telegram:77", Other: "telegram:77"}); err == nil {
		t.Error("telegram:77 was joined with itself")
	}
	for name, id := range map[string]string{"a": "telegram:77", "b": "irc:account:ann", "c": "whatsapp:+15550000001", "d": "operator", "e": ""} {
		r.token(name, id, "chat")
	}
}

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

var (
	annsRoom  = channels.MustKey("web:telegram:1/tea")
	group     = channels.MustKey("telegram:-100")
	bobsChat  = channels.MustKey("telegram:2")
	annsToken = people.Principal{ID: "telegram:1", Name: "phone", Token: "phone"}
)

// sights are what Ann sees: all of her room, and of the group what was said since she
// came. Reading Bob's chat is only for the socket.
type sights struct{ read []channels.Key }

func (*sights) Of(_ context.Context, who people.Principal, k channels.Key) (people.Sight, error) {
	switch {
	case who.AtSocket():
		return people.Sight{May: true, Along: true}, nil
	case who.ID != annsToken.ID:
		return people.Sight{}, nil
	case k == annsRoom:
		return people.Sight{May: true, Own: true}, nil
	case k == group:
		return people.Sight{May: true, Own: true, From: 3, Group: true}, nil
	}
	return people.Sight{}, nil
}

func (*sights) Mine(_ context.Context, who people.Principal) ([]string, error) {
	return []string{who.ID, "web:" + who.ID}, nil
}

func (s *sights) Read(ctx context.Context, who people.Principal, k channels.Key) (people.Sight, error) {
	s.read = append(s.read, k)
	return s.Of(ctx, who, k)
}

// talks is a store with what Ann, Bob and a group said about tea.
func talks(t *testing.T) *sqlitetest.Store {
	t.Helper()
	s := sqlitetest.Open(t, now)
	for _, k := range []channels.Key{annsRoom, group, bobsChat} {
		said := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: k.String(), Text: "tea"}, Answered: true}
		writer := "1" // Ann's id on Telegram
		if k == annsRoom {
			writer = annsToken.ID
		}
		if k == bobsChat {
			writer = "2"
		}
		for _, text := range []string{"old tea", "no tea", "new tea", "more tea"} {
			said.Append = append(said.Append, sessions.Message{Role: sessions.RoleUser, Content: text + " of " + k.String(), Sender: writer, At: began})
		}
		if _, err := s.Accept(t.Context(), said); err != nil {
			t.Fatal(err)
		}
		head, err := s.Conversation(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddSummary(t.Context(), k, sessions.Summary{Text: "about tea", CoversSeq: 2, Generation: head.Generation, At: began}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Remember(t.Context(), sessions.ChatScope(k), sessions.NewFact{Text: "likes tea"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Rename(t.Context(), bobsChat, "Bob's secrets"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: bobsChat, ID: "2", Text: "waiting secret"}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// with makes a client for somebody at the port.
func with(o api.Options, who people.Principal, scope people.Scope) *api.Client {
	h := api.New(o)
	who.Scope = scope
	return api.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(people.With(r.Context(), who)))
	}))
}

// keysOf are the keys of a list.
func keysOf(page api.Page[api.Conversation]) []string {
	var keys []string
	for _, c := range page.Data {
		keys = append(keys, c.Key.String())
	}
	return keys
}

// Whoever has a chat token reads their own conversations, and the group since they came.
func TestOwnConversations(t *testing.T) {
	o := optionsOf(talks(t))
	o.Reads = &sights{}
	c := with(o, annsToken, people.Chat)
	ctx := t.Context()
	list, err := api.Find.Call(ctx, c, api.ConversationQuery{})
	if diff := cmp.Diff([]string{group.String(), annsRoom.String()}, keysOf(list)); diff != "" || err != nil {
		t.Errorf("Find, %v (-want +got):\n%s", err, diff)
	}
	for _, one := range list.Data {
		want := "old tea of " + one.Key.String()
		if one.Key == group {
			want = "new tea of " + one.Key.String() // what came before is not for her
		}
		if one.Name() != want {
			t.Errorf("%s is called %q, want %q", one.Key, one.Name(), want)
		}
	}
	if one, err := api.Find.Call(ctx, c, api.ConversationQuery{Limit: 1}); err != nil || len(one.Data) != 1 || one.Next == "" {
		t.Errorf("Find of one = %+v, %v, want one and that there may be more", one, err)
	} else if rest, err := api.Find.Call(ctx, c, api.ConversationQuery{After: one.Next}); err != nil || len(rest.Data) != 1 || rest.Next != "" {
		t.Errorf("Find of the rest = %+v, %v, want the other and no more", rest, err)
	}
	for _, tt := range []struct {
		part api.Part
		want string
	}{
		{api.Part{Key: annsRoom}, "old no new more"},
		{api.Part{Key: group}, "new more"},
		{api.Part{Key: group, After: "0", Limit: 1}, "new"},
		{api.Part{Key: group, Before: "4"}, "new"},
		{api.Part{Key: group, Before: "3"}, ""},
		{api.Part{Key: group, After: "2000-01-01T00:00:00Z"}, "new more"},
	} {
		page, err := api.ReadMessages.Call(ctx, c, tt.part)
		var words []string
		for _, m := range page.Data {
			word, _, _ := strings.Cut(m.Content, " ")
			words = append(words, word)
		}
		if got := strings.Join(words, " "); got != tt.want || err != nil {
			t.Errorf("%+v = %q, %v, want %q", tt.part, got, err, tt.want)
		}
	}
	if page, err := api.ReadMessages.Call(ctx, c, api.Part{Key: group, Limit: 2}); err != nil || len(page.Data) != 2 || page.Next != "" {
		t.Errorf("the group's last messages are %+v, %v, want two and no page before", page, err)
	}
	hits, err := api.SearchAll.Call(ctx, c, api.Search{Query: "tea"})
	if err != nil || len(hits.Data) != 6 {
		t.Errorf("SearchAll = %d hits, %v, want 4 of the room and 2 of the group", len(hits.Data), err)
	}
	if sum, err := api.ReadSummary.Call(ctx, c, api.About{Key: annsRoom}); err != nil || sum == nil {
		t.Errorf("the room's summary = %v, %v", sum, err)
	}
	if sum, err := api.ReadSummary.Call(ctx, c, api.About{Key: group}); err != nil || sum != nil {
		t.Errorf("the group's summary = %v, %v, want none: it is of what came before", sum, err)
	}
	if err := api.Rename.Call(ctx, c, api.Title{Key: annsRoom, Title: "Tea"}); err != nil {
		t.Errorf("Rename of the room = %v", err)
	}
	var refused *respond.Refusal
	if err := api.Rename.Call(ctx, c, api.Title{Key: group, Title: "Tea"}); !errors.As(err, &refused) || refused.Status != 403 {
		t.Errorf("Rename of the group = %v, want 403", err)
	}
	if err := api.Rename.Call(ctx, with(o, annsToken, people.Operate), api.Title{Key: group, Title: "Tea"}); err != nil {
		t.Errorf("Rename of the group with the scope operate = %v", err)
	}
}

// Somebody who may see one of 500 messages with a word, or of 500 conversations with a
// title, learns from no page that there are others: none is short or has a next for their
// sake, whatever the scope and the size of the page.
func TestPagesTellNothingOfOthers(t *testing.T) {
	s := talks(t)
	for i := range 500 {
		k := channels.MustKey(fmt.Sprintf("telegram:9%03d", i))
		said := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: k.String(), Text: "x"}, Answered: true, Append: []sessions.Message{{
			Role: sessions.RoleUser, Content: "the treasure is buried", Sender: "2", At: began.Add(time.Duration(i) * time.Second),
		}}}
		if i == 250 {
			said.Inbound.Key = annsRoom
			said.Append[0].Sender = annsToken.ID
		}
		if _, err := s.Accept(t.Context(), said); err != nil {
			t.Fatal(err)
		}
		if err := s.Rename(t.Context(), said.Inbound.Key, "Treasure"); err != nil {
			t.Fatal(err)
		}
	}
	// In the group it was said before Ann came: her part begins at 3, and there it is not.
	o := optionsOf(s)
	o.Reads = &sights{}
	for _, scope := range people.Scopes() {
		c := with(o, annsToken, scope)
		for _, limit := range []int{1, 2, 10, 200} {
			for word, want := range map[string]int{"treasure": 1, "nowhere": 0, "old": 1} {
				page, err := api.SearchAll.Call(t.Context(), c, api.Search{Query: word, Limit: limit})
				if err != nil || len(page.Data) != want || page.Next != "" {
					t.Errorf("search for %s with the scope %s by %d: %d hits and next %q, %v, want %d and no next", word, scope, limit, len(page.Data), page.Next, err, want)
				}
			}
		}
		page, err := api.SearchAll.Call(t.Context(), c, api.Search{Query: "tea", Limit: 4})
		if err != nil || len(page.Data) != 4 || page.Next == "" {
			t.Errorf("the first page with the scope %s: %d hits, next %q, %v, want 4 of 6 and a next", scope, len(page.Data), page.Next, err)
		}
		page, err = api.SearchAll.Call(t.Context(), c, api.Search{Query: "tea", Limit: 4, After: page.Next})
		if err != nil || len(page.Data) != 2 || page.Next != "" {
			t.Errorf("the second page with the scope %s: %d hits, next %q, %v, want 2 and no next", scope, len(page.Data), page.Next, err)
		}
		for _, limit := range []int{1, 2, 200} {
			list, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Text: "treasure", Limit: limit})
			if err != nil || len(list.Data) != 1 || list.Data[0].Key != annsRoom || list.Next != "" {
				t.Errorf("Find with the scope %s by %d: %d conversations and next %q, %v, want one and no next", scope, limit, len(list.Data), list.Next, err)
			}
		}
	}
	admin := with(o, people.Principal{ID: people.OperatorID}, people.Admin)
	seen := 0
	for search := (api.Search{Query: "treasure", Limit: 100}); ; {
		page, err := api.SearchAll.Call(t.Context(), admin, search)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(page.Data)
		search.After = page.Next
		if page.Next == "" {
			break
		}
	}
	if seen != 500 {
		t.Errorf("the operator at the socket finds %d messages, want 500", seen)
	}
}

// Who talks in a room of theirs sees what is remembered about them, and nobody else at the
// page does, not even who reads along.
func TestFactsOfARoom(t *testing.T) {
	s := talks(t)
	o := optionsOf(s)
	o.Reads = &sights{}
	for _, scope := range []string{"person:web:telegram:1", "person:web:telegram:12"} {
		if _, err := s.Remember(t.Context(), scope, sessions.NewFact{Text: "of " + scope}); err != nil {
			t.Fatal(err)
		}
	}
	said := channels.Inbound{Key: annsRoom, ID: "2", Text: "and now?", Private: true, Sender: channels.Person{IDs: []string{annsToken.ID}}}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: said}); err != nil {
		t.Fatal(err)
	}
	about := api.FactsOf{Target: annsRoom.String()}
	facts, err := api.ListFacts.Call(t.Context(), with(o, annsToken, people.Chat), about)
	if err != nil || len(facts.Data) != 2 || facts.Data[0].Scope != "person:web:telegram:1" {
		t.Errorf("ListFacts of a room of one's own = %+v, %v, want those of the room and of this person", facts.Data, err)
	}
	facts, err = api.ListFacts.Call(t.Context(), with(o, people.Principal{ID: "telegram:2", Token: "other"}, people.Admin), about)
	if !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("ListFacts of the room of somebody else = %+v, %v, want ErrNotFound", facts.Data, err)
	}
}

// What others wrote is not found, whatever the scope: neither a conversation, nor what
// is remembered or waits in it.
func TestConversationsOfOthers(t *testing.T) {
	s := talks(t)
	o := optionsOf(s)
	o.Reads = &sights{}
	o.Ask = func(context.Context, api.Question) (string, error) {
		t.Error("the question was asked")
		return "", nil
	}
	about := api.About{Key: bobsChat}
	model := "m"
	for _, scope := range people.Scopes() {
		c := with(o, annsToken, scope)
		ctx := t.Context()
		for what, err := range map[string]error{
			"head":        second(api.ReadConversation.Call(ctx, c, about)),
			"messages":    second(api.ReadMessages.Call(ctx, c, api.Part{Key: bobsChat})),
			"running":     second(api.ReadRunning.Call(ctx, c, about)),
			"summary":     second(api.ReadSummary.Call(ctx, c, about)),
			"generations": second(api.ListGenerations.Call(ctx, c, about)),
			"search":      second(api.SearchAll.Call(ctx, c, api.Search{Query: "tea", Key: bobsChat})),
			"settings":    second(api.Configure.Call(ctx, c, api.Change{Key: bobsChat, Model: &model, New: true})),
			"title":       api.Rename.Call(ctx, c, api.Title{Key: bobsChat, Title: "x"}),
			"question":    second(api.PutQuestion.Call(ctx, c, api.Question{Key: bobsChat, Text: "What did we say?"})),
			"facts":       second(api.ListFacts.Call(ctx, c, api.FactsOf{Target: bobsChat.String()})),
			"a fact":      api.Forget.Call(ctx, c, api.Fact{Target: bobsChat.String(), ID: 1}),
			"no chat":     second(api.ReadConversation.Call(ctx, c, api.About{Key: channels.MustKey("telegram:404")})),
			"group facts": second(api.ListFacts.Call(ctx, c, api.FactsOf{Target: group.String()})),
		} {
			if !errors.Is(err, sessions.ErrNotFound) {
				t.Errorf("%s with the scope %s = %v, want ErrNotFound", what, scope, err)
			}
		}
		if scope == people.Chat {
			continue
		}
		list, err := api.Find.Call(ctx, c, api.ConversationQuery{Channel: "telegram"})
		if err != nil || len(list.Data) != 2 || list.Data[0].Name()+list.Data[1].Name() != "new tea of "+group.String() {
			t.Errorf("Find with the scope %s = %+v, %v, want the group, and Bob's chat without words", scope, list, err)
		}
		if mine, err := api.Find.Call(ctx, c, api.ConversationQuery{Channel: "telegram", Mine: true}); err != nil || len(mine.Data) != 1 {
			t.Errorf("Find of mine with the scope %s = %+v, %v, want the group", scope, mine, err)
		}
	}
	c := with(o, annsToken, people.Admin)
	for _, pair := range []api.Pair{{From: bobsChat, To: group}, {From: group, To: bobsChat}, {From: annsRoom, To: channels.MustKey("web:telegram:2/tea")}} {
		if err := api.Join.Call(t.Context(), c, pair); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("Join of %s to %s = %v, want ErrNotFound: Ann would read both", pair.From, pair.To, err)
		}
	}
	if err := c.Dump(t.Context(), []channels.Key{annsRoom, bobsChat}, nil); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("Dump = %v, want ErrNotFound", err)
	}
	if err := c.Dump(t.Context(), nil, nil); err == nil {
		t.Error("all of the store was copied at the port")
	}
	queue, err := api.ListQueue.Call(t.Context(), c, api.QueueQuery{})
	if err != nil || len(queue.Data) != 1 {
		t.Fatalf("the queue is %+v, %v", queue, err)
	}
	item, err := api.ShowQueue.Call(t.Context(), c, api.Item{ID: queue.Data[0].ID})
	if err != nil || item.Text != "" {
		t.Errorf("ShowQueue = %+v, %v, want no text", item, err)
	}
	plan, err := api.PlanErase.Call(t.Context(), c, api.Target{Name: bobsChat.String()})
	if err != nil || len(plan.Conversations) != 1 || plan.Conversations[0].Title != "" {
		t.Errorf("PlanErase = %+v, %v, want Bob's conversation without its title", plan, err)
	}
}

// Nobody finds a conversation of others by its words, so that nobody can guess them; only
// by its key, which the list shows.
func TestWordsOfOthersFindNothing(t *testing.T) {
	s := talks(t)
	for _, k := range []channels.Key{bobsChat, annsRoom} {
		err := s.Configure(t.Context(), k, func(set *sessions.Settings) error {
			set.Tags = []string{"gift"}
			set.Metadata = map[string]json.RawMessage{"for": json.RawMessage(`"ann"`)}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o := optionsOf(s)
	o.Reads = &sights{}
	for name, c := range map[string]struct {
		query               api.ConversationQuery
		reader, atTheSocket []string
	}{
		"title":       {api.ConversationQuery{Text: "bob's s"}, nil, []string{bobsChat.String()}},
		"tag":         {api.ConversationQuery{Tag: "gift"}, []string{annsRoom.String()}, []string{bobsChat.String(), annsRoom.String()}},
		"meta":        {api.ConversationQuery{Meta: map[string]string{"for": "ann"}}, []string{annsRoom.String()}, []string{bobsChat.String(), annsRoom.String()}},
		"key":         {api.ConversationQuery{Text: "Telegram:2"}, []string{bobsChat.String()}, []string{bobsChat.String()}},
		"key and tag": {api.ConversationQuery{Text: "telegram:2", Tag: "gift"}, nil, []string{bobsChat.String()}},
	} {
		reader, err := api.Find.Call(t.Context(), with(o, annsToken, people.Admin), c.query)
		if diff := cmp.Diff(c.reader, keysOf(reader)); diff != "" || err != nil {
			t.Errorf("%s, %v (-want +got):\n%s", name, err, diff)
		}
		socket, err := api.Find.Call(t.Context(), api.InProcess(api.New(o)), c.query)
		if diff := cmp.Diff(c.atTheSocket, keysOf(socket)); diff != "" || err != nil {
			t.Errorf("%s at the socket, %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// The operator at the socket reads all, and each reading of one conversation is noticed.
func TestTheSocketReads(t *testing.T) {
	o := optionsOf(talks(t))
	seen := &sights{}
	o.Reads = seen
	c := api.InProcess(api.New(o))
	page, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: bobsChat})
	if err != nil || len(page.Data) != 4 {
		t.Errorf("ReadMessages = %+v, %v", page, err)
	}
	if list, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Channel: "telegram"}); err != nil || list.Data[0].Name() == "" {
		t.Errorf("Find = %+v, %v, want titles", list, err)
	}
	if hits, err := api.SearchAll.Call(t.Context(), c, api.Search{Query: "more tea"}); err != nil || len(hits.Data) == 0 {
		t.Errorf("SearchAll = %+v, %v", hits, err)
	}
	found := seen.read[1:]
	slices.SortFunc(found, func(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) })
	if diff := cmp.Diff([]channels.Key{bobsChat, group, bobsChat, annsRoom}, seen.read, cmp.AllowUnexported(channels.Key{})); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

package telegram_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// buttonsOf returns the buttons under the newest message of chat.
func (n *network) buttonsOf(chat int64) []string {
	shown := n.Shown(chat)
	return shown[len(shown)-1].Buttons()
}

// answered waits until a press is answered, and returns the notice.
func (n *network) answered(t *testing.T, press int) string {
	t.Helper()
	if press < 0 {
		t.Fatal("the message has no such button")
	}
	n.waitFor(t, "an answer to the press", func() bool { return n.Pressed(press).Answered })
	return n.Pressed(press).Text
}

func TestStopButton(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	id, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Turn: "t", Text: "so far"})
	if err != nil || !cmp.Equal(n.buttonsOf(n.chat.ID()), []string{"Stop"}) {
		t.Fatalf("Preview = %q, %v, with the buttons %q", id, err, n.buttonsOf(n.chat.ID()))
	}
	press := n.chat.Press(n.ann, n.lastID(n.chat.ID()), "Stop")
	if say := n.answered(t, press); say != "" {
		t.Errorf("the notice is %q, want none", say)
	}
	want := short{n.Key().String(), "7000000007", "/stop", "", true, true}
	if got := inbox.Messages(); len(got) != 1 || shorten(got[0]) != want || got[0].Quote.ID != id {
		t.Errorf("stored %+v, want %+v about message %s", got, want, id)
	}
	// Telegram may send the same press again.
	n.settled(t)
	n.PressAgain(press)
	n.waitFor(t, "the press to come again", func() bool { return n.Count("answerCallbackQuery") == 2 })
	if got := inbox.Repeated(); len(got) != 1 || got[0].ID != inbox.Messages()[0].ID {
		t.Errorf("repeated = %+v, want the same id once", got)
	}
	m := n.out("all of it")
	m.Edit = id
	if _, err := c.Send(t.Context(), m); err != nil || len(n.buttonsOf(n.chat.ID())) != 0 {
		t.Errorf("Send = %v; the finished answer has the buttons %q, want none", err, n.buttonsOf(n.chat.ID()))
	}
}

func (n *network) lastID(chat int64) int64 {
	shown := n.Shown(chat)
	return shown[len(shown)-1].ID
}

// A press is answered and confirmed only after it is stored.
func TestPressIsStoredFirst(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	if _, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: "so far"}); err != nil {
		t.Fatal(err)
	}
	release := inbox.Block()
	press := n.chat.Press(n.ann, n.lastID(n.chat.ID()), "Stop")
	testkit.Eventually(t, "the press to be handed in", func() bool { return inbox.Entered() == 1 || n.Pressed(press).Answered })
	time.Sleep(20 * time.Millisecond) // Give a wrong answer time to arrive.
	if n.Pressed(press).Answered || n.Unconfirmed() != 1 {
		t.Errorf("before the press is stored: answered = %v, %d unconfirmed, want false and 1", n.Pressed(press).Answered, n.Unconfirmed())
	}
	release()
	n.answered(t, press)
	n.settled(t)
}

// presser is an intake with the abilities Presser and Opener.
type presser struct {
	*channeltest.Inbox
	mu      sync.Mutex
	opened  []channels.Key
	refuses int
	all     bool // answers what addresses nobody, as with "groups: all"
}

func (p *presser) Answers(_ context.Context, m channels.Inbound) bool {
	return p.all || m.Private || m.Addressed
}

func (p *presser) Press(context.Context, channels.Inbound) (string, error) {
	return "I do not know you.", nil
}

func (p *presser) Opened(_ context.Context, k channels.Key) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses--
	if p.refuses >= 0 {
		return errors.New("the store is full")
	}
	p.opened = append(p.opened, k)
	return nil
}

func TestPressByAStranger(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	channeltest.Start(t, c, &presser{Inbox: channeltest.NewInbox()})
	if _, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: "so far"}); err != nil {
		t.Fatal(err)
	}
	if say := n.answered(t, n.chat.Press(n.ann, n.lastID(n.chat.ID()), "Stop")); say != "I do not know you." {
		t.Errorf("the notice is %q, want that of the intake", say)
	}
}

func TestStopInAGroup(t *testing.T) {
	n := newNetwork(t)
	group := n.Supergroup(-1005, "friends", true)
	topic := group.Topic()
	bob, carol := botapi.Person(8, "Bob"), botapi.Person(9, "Carol")
	n.Promote(carol)
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	asked := group.Post(botapi.Post{From: n.ann, Text: "@dragoman_bot go", Topic: topic})
	k := channels.MustKey("telegram:-1005:2")
	if topic == 1 {
		k = channels.MustKey("telegram:-1005:1")
	}
	if _, err := c.Preview(t.Context(), channels.Preview{Key: k, Text: "so far", ReplyTo: itoa(asked)}); err != nil {
		t.Fatal(err)
	}
	shown := n.lastID(-1005)
	if say := n.answered(t, group.Press(bob, shown, "Stop")); !strings.Contains(say, "Only the person who asked") {
		t.Errorf("Bob, who did not ask, gets the notice %q", say)
	}
	for _, who := range []botapi.User{n.ann, carol} {
		if say := n.answered(t, group.Press(who, shown, "Stop")); say != "" {
			t.Errorf("%s gets the notice %q, want none", who.FirstName, say)
		}
	}
	n.settled(t)
	var got []short
	for _, m := range inbox.Messages()[1:] {
		got = append(got, shorten(m))
		if m.MessageID != itoa(asked) {
			t.Errorf("MessageID = %q, want the question's", m.MessageID)
		}
	}
	if diff := cmp.Diff([]short{{k.String(), "7000000007", "/stop", "", false, true}, {k.String(), "9", "/stop", "", false, true}}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if _, err := c.Send(t.Context(), channels.Outbound{Key: k, Text: "done", Finishes: true}); err != nil || len(n.buttonsOf(-1005)) != 0 {
		t.Errorf("Send = %v; an answer in a group has the buttons %q, want none", err, n.buttonsOf(-1005))
	}
}

// A question has a button for each answer. The press of anybody in a group is handed in
// under their own id, and the message is edited to the decision, without buttons.
func TestChoices(t *testing.T) {
	n := newNetwork(t)
	group := n.Supergroup(-1005, "friends", false)
	bob := botapi.Person(8, "Bob")
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	k := channels.MustKey("telegram:-1005")
	receipt, err := c.Send(t.Context(), channels.Outbound{Key: k, Text: "May I?", Kind: channels.KindQuestion, Choices: []channels.Choice{
		{Label: "Allow once", Command: "allow", Subject: "k3fq"}, {Label: "Deny", Command: "deny", Subject: "k3fq"},
	}})
	if err != nil || !cmp.Equal(n.buttonsOf(-1005), []string{"Allow once", "Deny"}) {
		t.Fatalf("Send = %v, with the buttons %q", err, n.buttonsOf(-1005))
	}
	shown := n.lastID(-1005)
	for _, who := range []botapi.User{bob, n.ann} {
		if say := n.answered(t, group.Press(who, shown, "Deny")); say != "" {
			t.Errorf("%s gets the notice %q, want none", who.FirstName, say)
		}
	}
	n.settled(t)
	var got []short
	for _, m := range inbox.Messages() {
		got = append(got, shorten(m))
		if m.Quote.ID != receipt.MessageID {
			t.Errorf("the press is about message %s, want %s", m.Quote.ID, receipt.MessageID)
		}
	}
	if diff := cmp.Diff([]short{{k.String(), "8", "/deny k3fq", "", false, true}, {k.String(), "7000000007", "/deny k3fq", "", false, true}}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	_, err = c.Send(t.Context(), channels.Outbound{Key: k, Text: "Refused.", Edit: receipt.MessageID})
	if err != nil || len(n.buttonsOf(-1005)) != 0 || len(n.Shown(-1005)) != 1 {
		t.Errorf("Send = %v; the decision has the buttons %q", err, n.buttonsOf(-1005))
	}
}

// A reminder is put off by a button under it.
func TestSnoozeButtons(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	m := n.out("call Ann")
	m.Choices = []channels.Choice{{Label: "10 min", Command: "snooze", Subject: "r7in10mof0123abcd"}}
	if _, err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	n.answered(t, n.chat.Press(n.ann, n.lastID(n.chat.ID()), "10 min"))
	n.settled(t)
	if got := inbox.Messages(); len(got) != 1 || got[0].Text != "/snooze r7in10mof0123abcd" {
		t.Errorf("stored %+v, want the command", got)
	}
}

// A changed client cannot make any command of a press.
func TestForgedChoices(t *testing.T) {
	n := newNetwork(t)
	inbox := n.run(t, n.open(t, telegram.Options{}))
	for i, data := range []string{"a:new:x", "a:allow:", "a:allow:x y", "a:allow:x\n/new", "a:", "a:allow", "xa:allow:x"} {
		n.Push("callback_query", map[string]any{
			"id": strconv.Itoa(i), "from": n.ann, "data": data,
			"message": map[string]any{"chat": map[string]any{"id": 7, "type": "private"}, "message_id": 5, "date": 5},
		})
	}
	n.settled(t)
	if got := inbox.Messages(); len(got) != 0 {
		t.Errorf("stored %+v, want none", got)
	}
}

// Only the newest answer in a private chat has Again.
func TestAgainButton(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	inbox := n.run(t, c)
	send := func(text string, finishes bool) {
		m := n.out(text)
		m.Finishes = finishes
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	send("one", false)
	send("two", true)
	if shown := n.Shown(n.chat.ID()); len(shown[0].Buttons()) != 0 || !cmp.Equal(shown[1].Buttons(), []string{"Again"}) {
		t.Fatalf("the buttons are %q and %q, want Again under the last part only", shown[0].Buttons(), shown[1].Buttons())
	}
	n.answered(t, n.chat.Press(n.ann, n.lastID(n.chat.ID()), "Again"))
	if got := inbox.Messages(); len(got) != 1 || got[0].Text != "/again" {
		t.Errorf("stored %+v, want /again", got)
	}
	if err := c.Typing(t.Context(), n.Key()); err != nil || len(n.buttonsOf(n.chat.ID())) != 0 {
		t.Errorf("Typing = %v; the old answer has the buttons %q, want none", err, n.buttonsOf(n.chat.ID()))
	}
}

// If Typing is never called, only the newest 16 buttons of a chat are remembered.
func TestAgainUnderManyAnswers(t *testing.T) {
	const answers, most = 40, 16
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	for i := range answers {
		m := n.out(strconv.Itoa(i))
		m.Finishes = true
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Typing(t.Context(), n.Key()); err != nil {
		t.Fatal(err)
	}
	last := n.Shown(n.chat.ID())[answers-1]
	if got := n.Count("editMessageReplyMarkup"); got != most || len(last.Buttons()) != 0 {
		t.Errorf("%d buttons removed, want %d; the newest answer has %q, want none", got, most, last.Buttons())
	}
}

// A press of a button that we do not know is answered and not stored.
func TestOddPresses(t *testing.T) {
	n := newNetwork(t)
	inbox := n.run(t, n.open(t, telegram.Options{}))
	for _, body := range []map[string]any{
		{"id": "1", "from": n.ann, "data": "Stop"},
		{"id": "2", "from": n.ann, "data": "Stop", "message": map[string]any{"chat": map[string]any{"id": 7}, "message_id": 5, "date": 0}},
		{"id": "3", "from": n.ann, "data": "other", "message": map[string]any{"chat": map[string]any{"id": 7, "type": "private"}, "message_id": 5, "date": 5}},
		{"id": "4", "from": n.ann, "data": "Stop", "message": map[string]any{"message_id": 5, "date": 5}},
	} {
		n.Push("callback_query", body)
	}
	n.settled(t)
	if got := inbox.Messages(); len(got) != 0 || n.Count("answerCallbackQuery") != 4 {
		t.Errorf("stored %+v, %d presses answered, want none and 4", got, n.Count("answerCallbackQuery"))
	}
}

func TestChatThatBlocksAndUnblocks(t *testing.T) {
	n := newNetwork(t)
	c := n.open(t, telegram.Options{})
	in := &presser{Inbox: channeltest.NewInbox(), refuses: 1}
	channeltest.Start(t, c, in)
	opened := func(want int) {
		t.Helper()
		n.settled(t)
		in.mu.Lock()
		defer in.mu.Unlock()
		if len(in.opened) != want || in.opened[0] != n.Key() {
			t.Fatalf("Opened was called for %v, want %v, %d times", in.opened, n.Key(), want)
		}
	}
	send := func() error {
		_, err := c.Send(t.Context(), n.out("hello"))
		return err
	}
	n.chat.Block(n.ann)
	n.settled(t)
	var retry *channels.Retry
	var notSent *channels.NotSent
	if err := send(); !errors.As(err, &retry) || !errors.As(err, &notSent) || retry.After < 29*time.Minute || n.Count("sendMessage") != 0 {
		t.Errorf("Send = %v after %d calls, want Retry after half an hour without a call", err, n.Count("sendMessage"))
	}
	if id, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Text: "x"}); !errors.As(err, &retry) || id != "" {
		t.Errorf("Preview = %q, %v", id, err)
	}
	n.chat.Unblock(n.ann)
	opened(1)
	if err := send(); err != nil {
		t.Errorf("Send after the chat unblocked the bot = %v, want nil", err)
	}

	// If the update is lost, the refusal says it too. A message from the person ends it.
	n.chat.BlockSilently()
	if err := send(); !errors.As(err, &retry) || !strings.Contains(err.Error(), "blocked by the user") {
		t.Errorf("Send = %v, want Retry because the bot is blocked", err)
	}
	n.chat.Say(n.ann, "I am back")
	opened(2)
}

// A private chat gets drafts. A group, and a chat where drafts are refused, gets a
// message with Stop.
func TestDrafts(t *testing.T) {
	s, err := botapi.Start("127.0.0.1:0", botapi.Options{Drafts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	n := &network{Server: s, ann: botapi.Person(7, "Ann")}
	n.chat = s.Private(n.ann)
	c := n.open(t, telegram.Options{PreviewEvery: time.Nanosecond})
	show := func(k channels.Key, turn, text string) string {
		t.Helper()
		id, err := c.Preview(t.Context(), channels.Preview{Key: k, Turn: turn, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if id := show(n.Key(), "t1", "**so**"); id != "" {
		t.Errorf("a draft has the message id %q, want none", id)
	}
	show(n.Key(), "t1", "so far")
	if diff := cmp.Diff([]string{"so …", "so far …"}, s.Drafts(7)); diff != "" || len(s.FromBot(7)) != 0 {
		t.Errorf("drafts (-want +got), with the messages %q:\n%s", s.FromBot(7), diff)
	}
	if calls := s.Calls("sendMessageDraft"); calls[0].Params["draft_id"] != calls[1].Params["draft_id"] {
		t.Errorf("the drafts of one answer have two ids: %v", calls)
	}
	s.Group(-5, "friends")
	if id := show(channels.MustKey("telegram:-5"), "t2", "in a group"); id == "" || len(s.Drafts(-5)) != 0 {
		t.Errorf("in a group Preview = %q, drafts %q", id, s.Drafts(-5))
	}
	// After one refusal, drafts are not tried again.
	s.Break(botapi.Fault{Method: "sendMessageDraft", Status: 400, Description: "Bad Request: USER_BOT_REQUIRED"})
	if id := show(n.Key(), "t3", "refused"); id == "" || !cmp.Equal(n.buttonsOf(7), []string{"Stop"}) {
		t.Errorf("Preview after a refusal = %q with %q, want a message with Stop", id, n.buttonsOf(7))
	}
	s.Heal()
	show(n.Key(), "t4", "later")
	if got := s.Count("sendMessageDraft"); got != 3 {
		t.Errorf("drafts were tried %d times, want 3", got)
	}
}

// Other errors are no reason to give up drafts.
func TestDraftFailsForNow(t *testing.T) {
	for _, status := range []int{429, 500} {
		s, err := botapi.Start("127.0.0.1:0", botapi.Options{Drafts: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		n := &network{Server: s, ann: botapi.Person(7, "Ann")}
		n.chat = s.Private(n.ann)
		c := n.open(t, telegram.Options{PreviewEvery: time.Nanosecond})
		s.Break(botapi.Fault{Method: "sendMessageDraft", Times: 1, Status: status})
		if id, err := c.Preview(t.Context(), channels.Preview{Key: n.Key(), Turn: "t", Text: "x"}); err == nil || id != "" {
			t.Errorf("%d: Preview = %q, %v, want an error", status, id, err)
		}
		if len(s.FromBot(7)) != 0 {
			t.Errorf("%d: shown %q", status, s.FromBot(7))
		}
	}
}

func TestLongDraftBecomesAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		c, err := telegram.New("telegram", telegram.Options{Token: "1:x", HTTP: s.client()})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for range 8 {
			id, err := c.Preview(t.Context(), channels.Preview{Key: channels.MustKey("telegram:7"), Turn: "t", Text: "x"})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			time.Sleep(time.Second)
		}
		if diff := cmp.Diff([]string{"", "", "", "", "", "1", "1", "1"}, ids); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

func TestTopicsShareThePreviewsOfTheirChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := telegram.New("telegram", telegram.Options{Token: "1:x", HTTP: (&script{}).client()})
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, k := range []string{"telegram:-5:1", "telegram:-5:2", "telegram:-5"} {
			if _, err := c.Preview(t.Context(), channels.Preview{Key: channels.MustKey(k), Text: "x"}); err == nil {
				shown++
			}
		}
		if shown != 1 {
			t.Errorf("%d topics of one chat got a preview at once, want 1", shown)
		}
	})
}

// A server that answers empty polls at once is polled only once a second.
func TestServerThatDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := play(t, time.Minute, nothing)
		if n := len(s.times()); n < 30 || n > 65 {
			t.Errorf("%d polls in a minute, want about 60", n)
		}
	})
}

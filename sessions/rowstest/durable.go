package rowstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// RunDurable tests a backend that is kept in dir. open opens the one in dir, or
// creates it. The TestMain must call [Child] first.
func RunDurable(t *testing.T, open func(ctx context.Context, dir string) (rows.Backend, error)) {
	opened := func(t *testing.T, dir string) rows.Backend {
		t.Helper()
		b, err := open(t.Context(), dir)
		must(t, err)
		return b
	}
	t.Run("Reopened", func(t *testing.T) {
		dir := t.TempDir()
		b := opened(t, dir)
		stored := everything(t, b)
		before := image(t, b)
		must(t, b.Close())
		b = opened(t, dir)
		same(t, "content after reopening", image(t, b), before)
		h, _, err := b.Head(t.Context(), k1)
		must(t, err)
		same(t, "the conversation", h.Conversation, stored.Conversation)
		for i, row := range list(t, b.Inbox(t.Context(), k1, rows.QueueFilter{}), func(r rows.In) rows.In { return r }) {
			same(t, "a row of the inbox", row, stored.In[i].In)
		}
		same(t, "messages", list(t, b.Messages(t.Context(), k1, rows.MessageFilter{}), func(m sessions.Message) sessions.Message { return m }), stored.Messages)
		must(t, b.Close())
	})
	t.Run("Kills", func(t *testing.T) { kills(t, opened) })
}

// everything stores one or two of everything, and returns the change of k1.
func everything(t *testing.T, b rows.Backend) *rows.Chat {
	t.Helper()
	one, two := said(k1, "20260501_001", 3), said(k2, "20260501_002", 1)
	one.Summaries = []sessions.Summary{{Text: "before", CoversSeq: 1, Generation: "20260501_001", At: noon}}
	one.Conversation.Covers = 1
	one.Conversation.Erasures = 2
	one.Conversation.Owners = []sessions.Owner{{Identities: []string{"k:7", "k:é"}, Private: true}, {Identities: []string{"k:8"}, From: 2}}
	two.Conversation.Owners = []sessions.Owner{}
	one.Conversation.Title = "a title"
	one.Seq, one.Waiting = 5, 1
	one.In = []*rows.InPut{in(k1, 1, rules.InDone), in(k1, 2, rules.InWaiting)}
	one.Out = []*rows.Out{out(k1, 3, sessions.DeliverySent), out(k1, 4, sessions.DeliveryQueued), out(k1, 5, sessions.DeliveryDead)}
	one.In[1].Turn = "t"
	one.In[1].Attempts = 3
	one.In[1].Due = noon.Add(time.Hour)
	one.Steps = []rows.Step{{Turn: "t", Step: sessions.Step{Kind: sessions.StepNote, At: noon}}}
	put(t, b, rows.Changes{
		Chats: []*rows.Chat{one, two},
		Marks: []string{"0badcafe"},
		Records: []rows.Record{
			{Store: &rows.Store{Days: map[string]int64{"20260501": 2}}},
			{Fact: &sessions.FactRecord{Scope: "a", Fact: sessions.Fact{ID: 7, Text: "a fact", At: noon}}},
			{Pairing: &sessions.Pairing{Channel: "x", PersonID: "7", Name: "Ann", Approved: noon}},
			{Job: &sessions.JobRecord{Job: "j", Due: noon}},
			{Occurrence: &sessions.Occurrence{Job: "j", Due: noon, Outcome: "ran", At: noon}},
			{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "x", ID: "9", Raw: []byte{0, 255}, Why: "odd"}, At: noon}},
			note("a", "x", "n", noon),
		},
		Add: []sessions.Count{{Kind: "a", Owner: "x", Day: "20260501", N: 3}},
	})
	return one
}

// image returns everything that can be read, as text.
func image(t *testing.T, b rows.Backend) (all []string) {
	t.Helper()
	say := func(what string, v any) { all = append(all, fmt.Sprintf("%s %+v", what, v)) }
	must(t, b.Snapshot(t.Context(), func(r rows.Reader) error {
		for _, h := range list(t, r.Heads(t.Context(), rows.ByKey, nil), func(h rows.Head) rows.Head { return h }) {
			say("head", fmt.Sprint(h.Key, h.Seq, h.MessageSeq))
			if h.Conversation != nil {
				say("conversation", *h.Conversation)
			}
			for _, in := range list(t, r.Inbox(t.Context(), h.Key, rows.QueueFilter{}), func(r rows.In) rows.In { return r }) {
				say("in", in)
				steps, err := r.Journal(t.Context(), h.Key, in.Turn)
				must(t, err)
				say("steps", steps)
			}
			say("out", list(t, r.Outbox(t.Context(), h.Key, rows.QueueFilter{}), func(o rows.Out) rows.Out { return o }))
			say("messages", list(t, r.Messages(t.Context(), h.Key, rows.MessageFilter{}), func(m sessions.Message) sessions.Message { return m }))
			for _, like := range []rows.Record{{Generation: &rows.Generation{Key: h.Key}}, {Summary: &rows.Summary{Key: h.Key}}} {
				say("of the key", list(t, r.Records(t.Context(), like), text))
			}
		}
		for _, like := range []rows.Record{
			{Store: &rows.Store{}},
			{Mark: new("")},
			{Fact: &sessions.FactRecord{}},
			{Pairing: &sessions.Pairing{}},
			{Job: &sessions.JobRecord{}},
			{Occurrence: &sessions.Occurrence{}},
			{Quarantined: &sessions.QuarantineRecord{}},
			{Note: &sessions.Note{}},
			{Count: &sessions.Count{}},
		} {
			say("records", list(t, r.Records(t.Context(), like), text))
		}
		return nil
	}))
	return all
}

// text prints a record without its pointers.
func text(r rows.Record) string {
	switch {
	case r.Store != nil:
		return fmt.Sprintf("%+v", *r.Store)
	case r.Generation != nil:
		return fmt.Sprintf("%+v", *r.Generation)
	case r.Summary != nil:
		return fmt.Sprintf("%+v", *r.Summary)
	case r.Mark != nil:
		return *r.Mark
	case r.Fact != nil:
		return fmt.Sprintf("%+v", *r.Fact)
	case r.Pairing != nil:
		return fmt.Sprintf("%+v", *r.Pairing)
	case r.Job != nil:
		return fmt.Sprintf("%+v", *r.Job)
	case r.Occurrence != nil:
		return fmt.Sprintf("%+v", *r.Occurrence)
	case r.Note != nil:
		return fmt.Sprintf("%+v", *r.Note)
	case r.Count != nil:
		return fmt.Sprintf("%+v", *r.Count)
	}
	return fmt.Sprintf("%+v", *r.Quarantined)
}

// RunFull tests a backend whose disk can be full: open returns it, and a function
// that makes the disk full or frees it.
func RunFull(t *testing.T, open func(t *testing.T) (b rows.Backend, full func(bool))) {
	b, full := open(t)
	long := func(seq int64) rows.Changes {
		row := in(k1, seq, rules.InDone)
		row.Inbound.Text = strings.Repeat("long ", 20_000)
		return of(queues(k1, seq, 0, []*rows.InPut{row}), said(channels.MustKey(fmt.Sprint("y:", seq)), fmt.Sprintf("20260501_%03d", seq), 1))
	}
	put(t, b, long(1))
	full(true)
	var err error
	seq := int64(1)
	for ; err == nil && seq < 1000; seq++ {
		err = b.Update(t.Context(), nil, func(rows.Reader) (rows.Changes, error) { return long(seq + 1), nil })
	}
	if err == nil {
		t.Fatal("the disk is not full")
	}
	whole := func(n int64) {
		t.Helper()
		h, _, err := b.Head(t.Context(), k1)
		must(t, err)
		heads := list(t, b.Heads(t.Context(), rows.ByKey, nil), headKey)
		if in := inboxOf(t, b, rows.QueueFilter{}); h.Seq != n || len(in) != int(n) || len(heads) != int(n)+1 {
			t.Errorf("seq %d, %d rows, %d keys, want %d, and one key more", h.Seq, len(in), len(heads), n)
		}
	}
	whole(seq - 1)
	full(false)
	put(t, b, long(seq))
	whole(seq)
}

const (
	childDir   = "DRAGOMAN_ROWS_CHILD"
	lives      = 6
	childLanes = 4
)

// Child must be called first by the TestMain of a backend that runs [RunDurable]. In
// the child, it changes rows until it is killed.
func Child(open func(ctx context.Context, dir string) (rows.Backend, error)) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	b, err := open(context.Background(), dir)
	if err == nil {
		var all sync.WaitGroup
		for lane := range childLanes {
			all.Go(func() { work(b, lane) })
		}
		all.Wait()
	}
	fmt.Fprintln(os.Stderr, "the child ended by itself:", err)
	os.Exit(1)
}

// lane returns two keys and a scope that count together.
func lane(n int) (key, beside channels.Key, scope string) {
	return channels.MustKey(fmt.Sprint("x:", n)), channels.MustKey(fmt.Sprint("y:", n)), fmt.Sprint("lane", n)
}

// work counts up, and prints the number after each step.
func work(b rows.Backend, n int) {
	ctx := context.Background()
	key, beside, scope := lane(n)
	for {
		var next int64
		err := b.Update(ctx, []channels.Key{key, beside}, func(r rows.Reader) (rows.Changes, error) {
			h, _, err := r.Head(ctx, key)
			next = h.Seq + 1
			message := sessions.Message{Seq: next, Role: sessions.RoleUser, Content: fmt.Sprint("word", next), At: noon}
			talk := &rows.Chat{Head: rows.Head{Key: beside, MessageSeq: next, Conversation: &rows.Conversation{
				Generation: fmt.Sprintf("20260501_%03d", n+1), Created: noon, Updated: noon, Messages: int(next),
			}}, Messages: []sessions.Message{message}}
			if next == 1 {
				talk.Begun = []sessions.Generation{{ID: talk.Conversation.Generation, FirstSeq: 1, Began: noon}}
			}
			return rows.Changes{
				Chats:   []*rows.Chat{queues(key, next, 0, []*rows.InPut{in(key, next, rules.InDone)}), talk},
				Records: []rows.Record{{Fact: &sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: next*childLanes + int64(n), Text: "x", At: noon}}}},
			}, err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		fmt.Printf("%d %d\n", n, next)
	}
}

// kills kills a child at random moments of its commits: every acknowledged step is
// there, and no step is there by halves.
func kills(t *testing.T, open func(*testing.T, string) rows.Backend) {
	dir := t.TempDir()
	var acked [childLanes]int64
	for range lives {
		life(t, dir, &acked)
		b := open(t, dir)
		for n := range childLanes {
			key, beside, scope := lane(n)
			h, _, err := b.Head(t.Context(), key)
			must(t, err)
			other, _, err := b.Head(t.Context(), beside)
			must(t, err)
			in := list(t, b.Inbox(t.Context(), key, rows.QueueFilter{}), inSeq)
			said := list(t, b.Messages(t.Context(), beside, rows.MessageFilter{}), messageSeq)
			facts := list(t, b.Records(t.Context(), rows.Record{Fact: &sessions.FactRecord{Scope: scope}}), name)
			if h.Seq < acked[n] || other.MessageSeq != h.Seq || len(in) != int(h.Seq) || len(said) != int(h.Seq) || len(facts) != int(h.Seq) {
				t.Errorf("lane %d acknowledged %d and has seq %d, message seq %d, %d rows, %d messages, %d facts", n, acked[n], h.Seq, other.MessageSeq, len(in), len(said), len(facts))
			}
		}
		must(t, b.Close())
	}
}

// life runs a child until some of its steps are acknowledged, and a moment more.
func life(t *testing.T, dir string, acked *[childLanes]int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(stdout)
	for heard := 0; lines.Scan(); heard++ {
		n, seq, _ := strings.Cut(lines.Text(), " ")
		at, err := strconv.Atoi(n)
		last, err2 := strconv.ParseInt(seq, 10, 64)
		must(t, errors.Join(err, err2))
		acked[at] = last
		if heard == 20 {
			timer.Reset(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}
}

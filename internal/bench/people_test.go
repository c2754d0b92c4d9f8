package bench_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/agent/agenttest"
	"dragoman/channels/channeltest/botapi"
)

// firstChat numbers the people; each has one private chat.
const firstChat = 5000

// writers are people who write messages with a mark of its own each and watch what they are
// answered.
type writers struct {
	api *botapi.Server

	mu    sync.Mutex
	count int // of messages, also the newest mark
	open  map[int64][]question
	took  []time.Duration // of the answers since the last reset
	wrong []string
	// previews were shown since the last reset.
	previews int
	// news gets the number of a chat whose last question was answered. It
	// holds all chats, so that the server never waits.
	news chan int64
}

type question struct {
	mark  int
	asked time.Time
}

func newPeople() *writers {
	return &writers{open: make(map[int64][]question), news: make(chan int64, 4096)}
}

// ask writes the next message into a chat.
func (p *writers) ask(chat int64) {
	p.say(chat, func(mark int) string {
		return fmt.Sprintf("What do you know about #%d, and is it a good number to think of today?", mark)
	})
}

func (p *writers) say(chat int64, text func(mark int) string) {
	person := botapi.Person(chat, "Ann")
	c := p.api.Private(person)
	p.mu.Lock()
	p.count++
	mark := p.count
	p.open[chat] = append(p.open[chat], question{mark, time.Now()})
	p.mu.Unlock()
	c.Say(person, text(mark))
}

// hear checks a message of the bot: its marks must be the oldest that are
// open in that chat, in order. A preview, which ends with an ellipsis, is no
// answer.
func (p *writers) hear(m botapi.Message) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasSuffix(m.Text, "…") {
		p.previews++
		return
	}
	chat := m.Chat.ID
	marks := agenttest.Marks(m.Text)
	open := p.open[chat]
	for _, mark := range marks {
		n, _ := strconv.Atoi(mark[1:])
		if len(open) == 0 || open[0].mark != n {
			p.wrong = append(p.wrong, fmt.Sprintf("chat %d: an answer to %d where %v are open", chat, n, open))
			continue
		}
		p.took = append(p.took, now.Sub(open[0].asked))
		open = open[1:]
	}
	if len(marks) == 0 {
		p.wrong = append(p.wrong, fmt.Sprintf("chat %d: a message that answers nothing: %.100q", chat, m.Text))
	}
	p.open[chat] = open
	if len(open) == 0 {
		select {
		case p.news <- chat:
		default: // nobody listens
		}
	}
}

// reset forgets the times so far and what was not listened to.
func (p *writers) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took, p.previews = nil, 0
	for len(p.news) > 0 {
		<-p.news
	}
}

// times are those of the answers since the last reset, sorted.
func (p *writers) times() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := slices.Clone(p.took)
	slices.Sort(took)
	return took
}

// waiting counts the questions without an answer.
func (p *writers) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, q := range p.open {
		n += len(q)
	}
	return n
}

// settle waits until all questions are answered and reports what was wrong.
func (h *house) settle() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	if err := h.api.Until(ctx, func() bool { return h.people.waiting() == 0 }); err != nil {
		h.t.Errorf("%d messages have no answer", h.people.waiting())
	}
	h.people.mu.Lock()
	defer h.people.mu.Unlock()
	for _, w := range h.people.wrong[:min(10, len(h.people.wrong))] {
		h.t.Error(w)
	}
	h.people.wrong = nil
}

// alone asks one question at a time in one chat.
func (h *house) alone(chat int64, n int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	h.people.reset()
	for range n {
		h.people.ask(chat)
		select {
		case <-h.people.news:
		case <-ctx.Done():
			h.settle()
			return
		}
	}
	h.settle()
}

// steady asks at a fixed rate, in each of the chats in turn, whether or not
// the answers come.
func (h *house) steady(chats, perSecond int, long time.Duration) {
	h.t.Helper()
	h.people.reset()
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	end := time.Now().Add(long)
	for n := 0; time.Now().Before(end); n++ {
		h.people.ask(firstChat + int64(n%chats))
		<-tick.C
	}
	h.settle()
}

// busy is what a saturated daemon did in a window of time.
type busy struct {
	answers int
	window  time.Duration
	// CPU time: of the daemon, of the fake servers and the people, and of
	// whatever else ran on the machine.
	daemon, own, others time.Duration
	took                []time.Duration
}

// saturate keeps every chat asking: the next question follows the answer. The
// first part of the time is not counted. used is the CPU time of the daemons so far.
func (h *house) saturate(used func() time.Duration, chats int, warm, long time.Duration) busy {
	h.t.Helper()
	h.people.reset()
	for i := range chats {
		h.people.ask(firstChat + int64(i))
	}
	pump := func(until time.Time) {
		left := time.NewTimer(time.Until(until))
		defer left.Stop()
		for {
			select {
			case chat := <-h.people.news:
				h.people.ask(chat)
			case <-left.C:
				return
			}
		}
	}
	pump(time.Now().Add(warm))
	h.people.mu.Lock()
	h.people.took = nil
	h.people.mu.Unlock()
	b := busy{daemon: used(), own: ownCPU(), others: machineCPU()}
	began := time.Now()
	pump(began.Add(long))
	b.window = time.Since(began)
	b.took = h.people.times()
	b.answers = len(b.took)
	b.daemon = used() - b.daemon
	b.own = ownCPU() - b.own
	b.others = machineCPU() - b.others
	b.others -= b.daemon + b.own
	h.settle()
	return b
}

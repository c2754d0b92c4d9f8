package crash_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
)

// talks is how many of the chats on IRC are private; the others are rooms.
const talks = chats / 2

// hearing is how long a line may be on its way from the network to our disk, and
// how long nobody may see that the bot is gone. What is said then is lost if the
// daemon is killed or put out of the room: IRC has no acknowledgement.
const hearing = time.Second

// ircCampaign is the campaign over IRC: a network that forgets what nobody
// hears. People write when they see the bot, and throw it out of rooms.
type ircCampaign struct {
	campaign
	server  *ircd.Server
	persons []*ircd.Person // one in each chat
	kicks   [chats][]time.Time
	deaf    []span // nobody may hear
	// frozen, if not nil, is when a node that may have had the nick did not run. What is
	// said to the nick goes to its connection, and is lost with that.
	frozen func() []span
	// A person waits for pause before they say more, 0 for none. Whoever answers the
	// bot ten times in a minute is taken for a program.
	pause   time.Duration
	spoke   [chats]time.Time
	unheard int
}

func newIRCCampaign(t *testing.T) *ircCampaign {
	t.Helper()
	c := &ircCampaign{}
	c.prepare(t, "sqlite", c.connect(t))
	return c
}

// connect makes c talk on a test IRC server, and returns its channel in the
// configuration.
func (c *ircCampaign) connect(t *testing.T) (channel string) {
	t.Helper()
	c.server, c.channel = ircd.New(ircd.Config{}), "irc"
	addr, err := c.server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.server.Close)
	var rooms []string
	for i := range chats {
		var room []string
		if i >= talks {
			room = []string{roomOf(i)}
			rooms = append(rooms, strconv.Quote(roomOf(i)))
		}
		c.persons = append(c.persons, ircd.Join(t, addr, nickOf(i), room...))
	}
	c.people = people{
		say: c.say, id: func(m channels.Inbound) string { return m.Text }, shown: c.shown, when: c.when, idle: func() bool { return true },
		name: func(chat int) string {
			if chat >= talks {
				return roomOf(chat)
			}
			return nickOf(chat)
		},
		away: func(chat int) bool {
			return time.Since(c.spoke[chat]) < c.pause || !c.server.Present("dragoman", c.room(chat))
		},
		annoy: c.kick,
		heard: c.heard,
	}
	return fmt.Sprintf(`irc: {type: irc, server: %q, tls: false, nick: dragoman, channels: [%s], allow: ["*"], flood: {burst: 100, every: 10ms}}`, addr, strings.Join(rooms, ", "))
}

func roomOf(chat int) string { return fmt.Sprint("#room", chat) }

func nickOf(chat int) string { return fmt.Sprint("ann", chat) }

// room is the room of a chat, "" if that is private.
func (c *ircCampaign) room(chat int) string {
	if chat >= talks {
		return roomOf(chat)
	}
	return ""
}

// say writes in a chat. What the daemon then has of it is its id here.
func (c *ircCampaign) say(chat int, text string) (id string) {
	line := strings.Replace(text, "/", "!", 1)
	c.spoke[chat] = time.Now()
	if chat < talks {
		c.persons[chat].Say("dragoman", line)
	} else {
		c.persons[chat].Say(roomOf(chat), "dragoman: "+line)
	}
	return text
}

// life is what one process stored that held the connection.
type life struct {
	lines, last int       // how many, and the number of the newest
	from, to    time.Time // when the first and the last of them were said
}

// listen wants that each process which held the connection stored all lines from
// its first to its last; their ids number them. What it had read when it ended,
// and not stored, is lost: nobody may hear what was said after its last line and
// before the first one of the next process. ended is when a process was killed last.
func (c *ircCampaign) listen(ended time.Time) {
	c.t.Helper()
	lives := map[string]*life{}
	var order []*life
	lists := c.rows()
	for _, r := range slices.SortedFunc(slices.Values(slices.Concat(lists[:]...)), func(a, b row) int { return a.at.Compare(b.at) }) {
		process, number, _ := strings.Cut(r.id[strings.LastIndexByte(r.id, ' ')+1:], "-")
		l := lives[process]
		if l == nil {
			l = &life{}
			lives[process], order = l, append(order, l)
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			c.t.Fatalf("the id %q of a message has no number", r.id)
		}
		l.lines, l.last = l.lines+1, max(l.last, n)
		if said := c.talk.said[r.mark]; r.mark > 0 {
			if l.from.IsZero() {
				l.from = said
			}
			l.to = said
		}
	}
	before := time.Time{}
	for _, l := range order {
		if l.lines != l.last {
			c.t.Errorf("a process stored %d of its first %d lines on IRC", l.lines, l.last)
		}
		c.deaf = append(c.deaf, span{before.Add(-hearing), l.from.Add(hearing)})
		before = l.to
	}
	c.deaf = append(c.deaf, span{before.Add(-hearing), ended.Add(hearing)})
}

// kick puts the bot out of a room. It comes back.
func (c *ircCampaign) kick() {
	chat := talks + c.dice.unrest.IntN(chats-talks)
	c.kicks[chat] = append(c.kicks[chat], time.Now())
	c.persons[chat].Raw("KICK " + roomOf(chat) + " dragoman :enough")
}

// shown is what the bot said in a chat, without what IRC adds.
func (c *ircCampaign) shown(chat int) []string {
	all, _ := c.saidBy(chat)
	plain := strings.NewReplacer("\x02", "", "\x1d", "", "\x0f", "", nickOf(chat)+": ", "")
	for i, text := range all {
		all[i] = plain.Replace(text)
	}
	return all
}

func (c *ircCampaign) when(chat int) []time.Time {
	_, times := c.saidBy(chat)
	return times
}

// saidBy is what the bot said in a chat, in order, under each of its nicks: while a dead
// connection has the first one, it uses another.
func (c *ircCampaign) saidBy(chat int) (texts []string, times []time.Time) {
	for _, nick := range []string{"dragoman", "dragoman_", "dragoman__"} {
		more, at := c.persons[chat].HeardAt(nick, where(chat))
		for i, text := range more {
			j, _ := slices.BinarySearchFunc(times, at[i], time.Time.Compare)
			for j < len(times) && times[j].Equal(at[i]) {
				j++
			}
			texts = slices.Insert(texts, j, text)
			times = slices.Insert(times, j, at[i])
		}
	}
	return texts, times
}

// where is the target of what the bot says in a chat.
func where(chat int) string {
	if chat < talks {
		return nickOf(chat)
	}
	return roomOf(chat)
}

// heard is sent without what the daemon may not have heard.
func (c *ircCampaign) heard(chat int, sent []int, rows []row) (heard []int) {
	has := make(map[int]int)
	for _, r := range rows {
		has[r.mark]++
	}
	if c.deaf == nil {
		c.listen(c.deaths[len(c.deaths)-1])
	}
	for _, n := range sent {
		during := func(s span) bool { return c.talk.said[n].After(s.from) && c.talk.said[n].Before(s.to) }
		late := func(end time.Time) bool { return end.Sub(c.talk.said[n]).Abs() < hearing }
		switch {
		case has[n] > 0:
			has[n]--
		case n <= 0, slices.ContainsFunc(c.deaf, during), slices.ContainsFunc(c.kicks[chat], late):
			c.unheard++
			continue
		case chat < talks && c.frozen != nil && slices.ContainsFunc(c.frozen(), during):
			c.unheard++
			continue
		}
		heard = append(heard, n)
	}
	return heard
}

func TestIRCCampaign(t *testing.T) {
	besideOthers(t)
	c := newIRCCampaign(t)
	c.run(wanted(t, 6), "crash-irc", func(v verdict) []line {
		kicks := 0
		for _, list := range c.kicks {
			kicks += len(list)
		}
		return []line{
			{"kicks out of a room", kicks},
			{"said while nobody listened, near a kill or a kick, and not heard", c.unheard},
			{"sent with the mark ↻, because an earlier sending may have arrived", v.marked},
			{"of those, really seen twice", v.repeated},
		}
	})
}

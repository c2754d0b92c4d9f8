package crash_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"dragoman/channels/channeltest/botapi"
)

// What the daemon says where Telegram refuses a place or a file, which docs/telegram.md
// promises.
const (
	toldOutside = "(The topic of this answer is gone, so I write here.)"
	toldFile    = "This answer is very long; this file has all of it."
	toldInstead = "I may not send files here."
)

// kind is a sort of place. The zero value is a private chat that takes everything.
type kind struct {
	group   bool // its people write in a group
	topic   bool // and there in a topic, which is closed now and then, or gone
	noFiles bool // the bot may not send files
}

// placesOf are the kinds of the places of a campaign: half of them private, the others of
// each kind.
func placesOf(n int) []kind {
	kinds := make([]kind, n)
	for i := n / 2; i < n; i++ {
		kinds[i] = kind{group: true, topic: i%3 != 0, noFiles: i%2 == 0}
	}
	return kinds
}

// place is where one person talks to the bot on Telegram.
type place struct {
	kind
	chat  *botapi.Chat
	api   *botapi.Server
	topic int64 // 0: none
	ann   botapi.User
	lost  atomic.Bool
	// since is when the topic was gone first, in Unix nanoseconds; 0: never.
	since atomic.Int64
}

func newPlace(api *botapi.Server, i int, k kind) *place {
	p := &place{kind: k, api: api, ann: ann(i)}
	if k.group {
		p.chat = api.Supergroup(-int64(firstChat+i), "group", k.topic)
	} else {
		p.chat = api.Private(p.ann)
	}
	if k.topic {
		p.topic = p.chat.Topic()
	}
	if k.noFiles {
		p.chat.Refuse("documents")
	}
	return p
}

// key is the chat part of the place's key.
func (p *place) key() string {
	if p.topic == 0 {
		return itoa(p.chat.ID())
	}
	return fmt.Sprintf("%d:%d", p.chat.ID(), p.topic)
}

// spell is text as people write it for the bot.
func (p *place) spell(text string) string {
	switch {
	case !p.group:
		return text
	case strings.HasPrefix(text, "/"):
		return text + "@" + p.api.Username()
	}
	return "@" + p.api.Username() + " " + text
}

func (p *place) say(text string) (id string) {
	return itoa(p.chat.Post(botapi.Post{From: p.ann, Topic: p.topic, Text: p.spell(text)}))
}

func (p *place) edit(id, text string) { p.chat.Edit(atoi(id), p.spell(text)) }

// gone reports whether nobody can write.
func (p *place) gone() bool { return p.lost.Load() }

// shown is what the bot said, without the word about a topic that is gone.
func (p *place) shown() (texts []string) {
	for _, text := range p.api.FromBot(p.chat.ID()) {
		if text == toldOutside {
			continue
		}
		texts = append(texts, strings.TrimPrefix(text, toldOutside+"\n\n"))
	}
	return texts
}

// troubleTopics closes one topic after another, or has it be gone, until ctx ends. Then
// all are as before.
func (c *campaign) troubleTopics(ctx context.Context) {
	var topics []*place
	for _, p := range c.places {
		if p.kind.topic {
			topics = append(topics, p)
		}
	}
	for len(topics) > 0 {
		c.pause(ctx, upTo(c.dice.places, 300*time.Millisecond))
		if ctx.Err() != nil {
			return
		}
		p := topics[c.dice.places.IntN(len(topics))]
		long := 400*time.Millisecond + upTo(c.dice.places, 1200*time.Millisecond)
		if c.dice.places.IntN(2) == 0 {
			c.closures++
			p.chat.CloseTopic(p.topic)
			c.pause(ctx, long)
			p.chat.ReopenTopic(p.topic, p.ann)
			continue
		}
		c.losses++
		p.since.CompareAndSwap(0, time.Now().UnixNano())
		p.lost.Store(true)
		p.chat.LoseTopic(p.topic)
		c.pause(ctx, long)
		p.chat.FindTopic(p.topic)
		p.lost.Store(false)
	}
}

// placed judges where the bot's words are, and in which form its files came.
func (c *campaign) placed(v *verdict) {
	for i, p := range c.places {
		flaw := func(format string, args ...any) {
			v.flaws = append(v.flaws, fmt.Sprintf("chat %d: ", i)+fmt.Sprintf(format, args...))
		}
		said := time.Time{} // when the bot said last that the topic is gone
		plain, marked := 0, 0
		for _, m := range c.api.Shown(p.chat.ID()) {
			if m.From == nil || m.From.ID != botapi.BotID {
				continue
			}
			if p.topic != 0 && m.Topic == 0 {
				v.outside++
				if strings.HasPrefix(m.Text, toldOutside) {
					said = m.Stored
				}
				first := p.since.Load()
				if first == 0 || m.Stored.UnixNano() < first {
					flaw("%q is outside of its topic, which was always there", m.Text)
				}
				if c.died(said, m.Stored) {
					flaw("%q is outside of its topic, and nothing says why", m.Text)
				}
			}
			text := strings.TrimPrefix(m.Text, toldOutside+"\n\n")
			switch rest := strings.TrimPrefix(text, repeatMark); {
			case m.Document != nil:
				v.files++
				if rest != toldFile || !strings.Contains(m.Document.Content, "done.") {
					flaw("a file came with %q, and has %.40q", m.Text, m.Document.Content)
				}
			case strings.Contains(rest, toldInstead):
				v.instead++
				if !p.noFiles {
					flaw("%q, and files are allowed", m.Text)
				}
			default:
				continue
			}
			if strings.HasPrefix(text, repeatMark) {
				marked++
			} else {
				plain++
			}
		}
		if sent := c.stored[i].files; plain > sent || plain+marked < sent {
			flaw("%d files were sent; %d are shown, or a sentence in their place, and %d with the mark", sent, plain, marked)
		}
	}
}

// died reports whether the daemon was killed between two times, and long enough before
// the second one that the message of that time is not from before: what is on its way at a
// kill arrives after it, and beside other campaigns not at once.
func (c *campaign) died(from, to time.Time) bool {
	if from.IsZero() {
		return true
	}
	for _, d := range c.deaths {
		if d.After(from) && d.Add(400*time.Millisecond).Before(to) {
			return true
		}
	}
	return false
}

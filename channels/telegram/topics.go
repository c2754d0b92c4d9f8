package telegram

import (
	"context"
	"sync"
)

// sayOutsideTopic comes with the first message that is sent to a group because its topic
// is gone.
const sayOutsideTopic = "(The topic of this answer is gone, so I write here.)"

// maxLostTopics bounds what is remembered. A forgotten topic costs one more refusal.
const maxLostTopics = 1000

// lostTopics are the deleted topics into which the bot wanted to write, and whether the
// chat was told. Their ids are never used again.
type lostTopics struct {
	mu   sync.Mutex
	told map[[2]int64]bool // by chat and topic
}

func (l *lostTopics) has(chat int64, topic int) (lost, told bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told, lost = l.told[[2]int64{chat, int64(topic)}]
	return lost, told
}

func (l *lostTopics) note(chat int64, topic int, told bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil || len(l.told) >= maxLostTopics {
		l.told = map[[2]int64]bool{}
	}
	l.told[[2]int64{chat, int64(topic)}] = told
}

// forget is for a topic in which somebody has just written.
func (l *lostTopics) forget(chat int64, topic int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.told, [2]int64{chat, int64(topic)})
}

// outsideTopic returns f for the chat itself, because topic is gone. The first message
// says so. If there is no room in it, the word is a message before it, which is optional.
func (c *Channel) outsideTopic(ctx context.Context, f form, topic int) form {
	f.topic = 0
	f.reply = 0
	_, told := c.lost.has(f.chat, topic)
	c.lost.note(f.chat, topic, told)
	if told {
		return f
	}
	word := page{html: sayOutsideTopic, plain: sayOutsideTopic}
	if f.file == nil && units(f.page.plain)+units(sayOutsideTopic)+2 > maxUnits {
		_, err := c.post(ctx, form{chat: f.chat, page: word})
		if err != nil {
			c.log.Warn("could not say that the topic is gone", "err", refusalOf(err))
		}
		return f
	}
	f.page.plain = sayOutsideTopic + "\n\n" + f.page.plain
	if f.page.html != "" {
		f.page.html = sayOutsideTopic + "\n\n" + f.page.html
	}
	return f
}

package memory

import (
	"time"

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
)

// Disk keeps what a [Store] changes. The store calls one method at a time,
// under its lock, except for Wipe, Moment, and a Content of all of a
// conversation, which come without the lock as well: what they wait for must
// not hold up those that come under it.
type Disk interface {
	// Image reads everything anew, as it is after the last Commit that
	// returned nil. A store asks for it once, and again after a failure.
	Image() (Image, error)
	// Content reads what belongs to one conversation: what is open, the newest
	// messages, and with whole the rest as well.
	Content(k channels.Key, whole bool) (Content, error)
	// Commit makes changes durable, in order and all of them or none.
	Commit(changes []Change) error
	// Wipe removes what the disk still holds of things that are erased; keys
	// are those that are gone.
	Wipe(keys []channels.Key) error
	// Moment makes ready to read all that there was at one time.
	Moment() Moment
}

// Moment is a [Disk] as it was. The store goes on meanwhile.
type Moment interface {
	// Take says that the moment is now. It comes once, under the store's lock.
	Take()
	// Content is that of a conversation, as it was.
	Content(k channels.Key) (Content, error)
	// End ends it.
	End()
}

// Image is everything except the contents of conversations.
type Image struct {
	Shared *Shared
	Heads  []Head
	Seen   *SeenIDs
	// Epoch is above the epochs of all former lives.
	Epoch int64
}

// Head is what is always in memory of a key.
type Head struct {
	Key        channels.Key `json:"key"`
	Seq        int64        `json:"seq,omitempty"`
	MessageSeq int64        `json:"message_seq,omitempty"`
	// Open says that something waits for an answer or a delivery.
	Open         bool      `json:"open,omitempty"`
	Conversation *ConvHead `json:"conversation,omitempty"` // nil: queues only
}

// ConvHead is what lists show of a conversation. It is replaced and never
// changed.
type ConvHead struct {
	rows.Conversation
	Generations []sessions.Generation `json:"generations,omitempty"` // without LastSeq
}

// ChatChange is what one step changed of a key.
type ChatChange struct {
	Head
	// Gone: nothing is left of the key.
	Gone bool `json:"gone,omitempty"`
	// Anew: what was stored before does not count, this is all.
	Anew bool `json:"anew,omitempty"`
	// Deleted: the conversation was deleted or has expired. It is Anew too.
	Deleted   bool                    `json:"deleted,omitempty"`
	Messages  []sessions.Message      `json:"messages,omitempty"`  // added
	Summaries *[]sessions.Summary     `json:"summaries,omitempty"` // all of them, if they changed
	In        []rows.In               `json:"inbox,omitempty"`     // added or changed, by Seq
	Out       []sessions.OutboxRecord `json:"outbox,omitempty"`    // added or changed, by ID
	Ended     []string                `json:"ended,omitempty"`     // turns without a journal now
	Steps     []TurnStep              `json:"steps,omitempty"`     // added
}

// TurnStep is a step of a turn's journal.
type TurnStep struct {
	Turn string        `json:"turn"`
	Step sessions.Step `json:"step"`
}

// Change is one step.
type Change struct {
	Common Common       `json:"common,omitzero"`
	Chats  []ChatChange `json:"chats,omitempty"`
}

// Common is what belongs to no conversation. In a [Change], what is empty did
// not change, lists hold what was added or changed, and the numbers are those
// after the step.
type Common struct {
	Name        string                `json:"name,omitempty"`
	LastOut     int64                 `json:"last_out,omitempty"`
	LastFact    int64                 `json:"last_fact,omitempty"`
	Prefix      string                `json:"prefix,omitempty"`
	Days        map[string]int64      `json:"days,omitempty"`
	Pairings    *[]sessions.Pairing   `json:"pairings,omitempty"` // all of them
	Facts       []sessions.FactRecord `json:"facts,omitempty"`
	Forgotten   []Forgotten           `json:"forgotten,omitempty"` // before Facts
	Due         map[string]time.Time  `json:"due,omitempty"`
	Occurrences []sessions.Occurrence `json:"occurrences,omitempty"`
	Quarantined []QuarantineRow       `json:"asides,omitempty"`
	Erased      []string              `json:"erased,omitempty"`
}

// Forgotten names a fact, or with ID 0 all of a scope.
type Forgotten struct {
	Scope string `json:"scope"`
	ID    int64  `json:"id,omitempty"`
}

// QuarantineRow is something set aside.
type QuarantineRow struct {
	ID string `json:"row"` // AsideRecord has an id of its own
	sessions.QuarantineRecord
}

// Open makes a store over d. It starts the goroutine that reads the disk and
// then commits, which Close ends: a start need not wait until all heads are
// read.
func Open(o Options, d Disk) *Store {
	b := newBackend(o)
	b.disk, b.begun, b.broken = d, make(chan struct{}), true
	b.queue = durable.NewQueue[op](batchMost)
	go b.commit()
	return b.store(o)
}

// begin reads the disk for the first time and reports whether that went well.
// What is open is known to the dispatcher before anybody can ask for it.
func (b *backend) begin() bool {
	defer close(b.begun)
	b.mu.Lock()
	defer b.mu.Unlock()
	img, err := b.disk.Image()
	if err == nil {
		err = b.setImage(img)
	}
	if b.beginErr = err; err != nil {
		return false
	}
	b.work, b.broken = b.dispatcher(img.Epoch), false
	var items []dispatch.Item
	for _, c := range b.chats {
		items = append(items, c.items(false)...)
	}
	b.work.Apply(items, nil)
	return true
}

// mend reads the state anew after a failure of the disk. What the dispatcher
// knows is still true: it was told nothing of what failed.
func (b *backend) mend() error {
	img, err := b.disk.Image()
	if err == nil {
		err = b.setImage(img)
	}
	b.broken = err != nil
	return err
}

func (b *backend) setImage(img Image) error {
	st := newState()
	st.Shared, st.seen = img.Shared, img.Seen
	for _, h := range img.Heads {
		st.chats[h.Key] = &chat{Head: h}
		st.count(h.Conversation, 1)
	}
	b.state = st
	for _, h := range img.Heads {
		if h.Open {
			if err := b.load(b.chats[h.Key]); err != nil {
				return err
			}
		}
	}
	return nil
}

package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// note is a message from one node to another, or a part of one: see sealer. All parts are
// sent in one transaction, so they arrive in order with nothing in between.
type note struct {
	Kind kind   `json:"k"`
	From string `json:"f"`           // the node that sends it
	At   int64  `json:"t,omitempty"` // when, by the clock of the database, in milliseconds
	ID   string `json:"i,omitempty"` // of the call
	// More is how many parts follow. It also makes parts differ: PostgreSQL drops a
	// notification that equals another in its transaction.
	More int `json:"more,omitempty"`
	// Rest: it is not the first part. Without those before it, it is worth nothing. Former
	// nodes do not set it.
	Rest bool `json:"r,omitempty"`
	// Method and Left, how long the caller still waits, belong to a call.
	Method string        `json:"m,omitempty"`
	Left   time.Duration `json:"l,omitempty"`
	Quiet  bool          `json:"q,omitempty"` // the caller does not wait for an answer
	// Key and Epoch name the claim of a fence.
	Key   channels.Key `json:"key,omitzero"`
	Epoch int64        `json:"e,omitempty"`
	// Data is in the JSON of former nodes only. In a sealed note it comes after it.
	Data []byte `json:"d,omitempty"`
	// former: it came without a seal.
	former bool
}

// kind is the kind of a note.
type kind string

const (
	isCall      kind = "call"
	isAnswer    kind = "answer"
	isFailure   kind = "failure" // the answer to a call that failed
	isGiveUp    kind = "give up" // the caller no longer waits
	isFence     kind = "fence"   // the claim of Key with Epoch is over
	isJobs      kind = "jobs"    // River has jobs
	isLeaseFree kind = "free"
	isReset     kind = "deaf" // the sender missed notes; calls to it are lost
)

// maxPart is how many bytes of data fit into a notification with the rest of a note.
// PostgreSQL allows 7,999 bytes.
const maxPart = 5200

// nodeChannel is the notification channel of a node.
func nodeChannel(id string) string { return "dragoman_" + id }

// allNodes is the notification channel of all nodes on this schema, by a hash: the
// schema's name may be too long for a channel. allFormer is the one of former nodes.
func (b *backend) allNodes() string  { return nodeChannel("sealed_" + rules.Hash(b.schema)[:32]) }
func (b *backend) allFormer() string { return nodeChannel("all_" + rules.Hash(b.schema)[:32]) }

func (b *backend) note(k kind) note { return note{Kind: k, From: b.id} }

// changeOf tells a node that k, which it has claimed, has changed.
func changeOf(k channels.Key) note {
	return note{Kind: isCall, Method: sessions.MethodChanged, Quiet: true, Data: []byte(k.String())}
}

// notifyQuery notifies as part of a transaction. notifyNowQuery is a transaction by
// itself and does not wait for the disk: notifications do not survive a crash anyway.
const (
	notifyQuery    = `SELECT pg_notify(c, p) FROM unnest($1::text[], $2::text[]) l (c, p)`
	notifyNowQuery = notifyQuery + `, set_config('synchronous_commit', 'off', true)`
)

// letters are notifications: a payload for each channel.
type letters struct{ channels, payloads []string }

func (l *letters) add(channel string, payloads []string) {
	for _, p := range payloads {
		l.channels = append(l.channels, channel)
		l.payloads = append(l.payloads, p)
	}
}

// lettersTo are a note to a node, and lettersToAll one to all of them. Former nodes get
// only what they may get: see formerMay.
func (b *backend) lettersTo(node string, n note, data []byte) (l letters) {
	channel := nodeChannel(node)
	if !b.isFormer(node) {
		l.add(channel, b.seal.parts(channel, n, data))
	} else if formerMay(&n) {
		l.add(channel, n.plain(data))
	}
	return l
}

func (b *backend) lettersToAll(n note, data []byte) (l letters) {
	l.add(b.allNodes(), b.seal.parts(b.allNodes(), n, data))
	if b.someFormer() && formerMay(&n) {
		l.add(b.allFormer(), n.plain(data))
	}
	return l
}

// notify sends notes that may be lost.
func (b *backend) notify(l letters) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.TTL)
	defer cancel()
	_, err := b.pool.Exec(ctx, notifyNowQuery, l.channels, l.payloads)
	return err
}

// wire is this node's end of the calls between nodes.
type wire struct {
	mu      sync.Mutex
	ready   chan struct{}           // closed while this node listens
	pending map[string]*pendingCall // calls of this node, by id
	part    unfinished              // the message of which more parts follow
	calls   map[[2]string]func()    // calls of others, by sender and id: cancel functions
	formers int                     // how many calls without a seal this node answers now
	serve   func(note) (end func()) // starts a call; nil: this node serves none
}

// unfinished is a message whose last part has not come. There is at most one, because the
// parts of one come together: the next part of another ends its life, or a renewal of this
// node's row, if no part came for as long as a lease.
type unfinished struct {
	of   [2]string // sender and id
	more int       // how many parts still have to come
	data []byte
	at   time.Time // when the last part came
}

// pendingCall is a call of this node that waits for its answer.
type pendingCall struct {
	node   string
	answer chan result // has room for one
}

// result is a node's answer to a call.
type result struct {
	data []byte
	err  error
}

// finish gives the call its answer. Only the first one counts.
func (a *pendingCall) finish(data []byte, err error) {
	select {
	case a.answer <- result{data, err}:
	default:
	}
}

// errCallLost: a call to a node was lost, or its answer.
var errCallLost = errors.New("the connection of a node to the database broke, so its call to another node is lost")

// listen opens a connection on which this node receives notes. It tells the others that
// earlier notes to this node are lost.
func (b *backend) listen(ctx context.Context) (*pgx.Conn, error) {
	conn, err := b.connection(ctx)
	if err != nil {
		return nil, err
	}
	b.seal.begin(b.allNodes())
	reset := b.lettersToAll(b.note(isReset), nil)
	query := fmt.Sprintf(`LISTEN %s; LISTEN %s; LISTEN %s; SELECT set_config('synchronous_commit', 'off', true)`,
		quoted(b.allNodes()), quoted(b.allFormer()), quoted(nodeChannel(b.id)))
	for i, payload := range reset.payloads { // neither has a quote
		query += fmt.Sprintf(`, pg_notify('%s', '%s')`, reset.channels[i], payload)
	}
	err = conn.PgConn().Exec(ctx, query).Close()
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// receive handles the notes that arrive within limit, or until the connection breaks.
func (b *backend) receive(ctx context.Context, conn *pgx.Conn, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		got, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		n, err := b.read(got.Channel, got.Payload)
		switch {
		case err != nil:
			b.noteRefused()
		case n.From != b.id:
			b.handle(n)
		}
	}
}

// read reads the note of a notification.
func (b *backend) read(channel, payload string) (note, error) {
	if strings.HasPrefix(payload, "{") {
		return b.readFormer(payload)
	}
	return b.seal.open(channel, payload)
}

// noteRefused counts a note that was refused, and says so once a minute: somebody else may
// be trying something.
func (b *backend) noteRefused() {
	b.refused++
	if time.Since(b.refusedAt) < time.Minute {
		return
	}
	b.Logger.Warn("refused notes that no node of this store has just made: somebody who may connect to the database sends them; see docs/scale.md", "notes", b.refused)
	b.refused = 0
	b.refusedAt = time.Now()
}

// do runs f under the lock.
func (w *wire) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// up lets this node make calls.
func (w *wire) up() { w.do(func() { close(w.ready) }) }

// down fails the pending calls, whose answers are lost, and makes new ones wait for up.
func (w *wire) down() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.ready:
		w.ready = make(chan struct{})
	default:
	}
	w.part = unfinished{}
	for _, a := range w.pending {
		a.finish(nil, errCallLost)
	}
}

// assemble puts the earlier parts of n before its data, and reports whether n is the
// last part. It drops messages that are too large, and those of which a part is missing.
// The caller holds mu.
func (w *wire) assemble(n *note) bool {
	of := [2]string{n.From, n.ID}
	before := w.part
	w.part = unfinished{}
	switch {
	case before.of == of && before.more == n.More+1:
		n.Data = append(before.data, n.Data...)
	case n.Rest:
		return false // its beginning was dropped
	}
	if n.More > 0 && len(n.Data) <= sessions.MaxAnswer {
		w.part = unfinished{of, n.More, n.Data, time.Now()}
	}
	return n.More == 0
}

// forget drops a message of which no part came for so long: its rest does not come any
// more. The caller holds mu.
func (w *wire) forget(silent time.Duration) {
	if time.Since(w.part.at) > silent {
		w.part = unfinished{}
	}
}

func (b *backend) handle(n note) {
	w := &b.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.former && n.Kind != isCall && !formerMay(&n) {
		return
	}
	if !w.assemble(&n) {
		return
	}
	switch n.Kind {
	case isCall:
		b.startCall(n)
	case isGiveUp:
		if end := w.calls[[2]string{n.From, n.ID}]; end != nil {
			end()
		}
	case isAnswer:
		if a := w.pending[n.ID]; a != nil && (!n.former || a.node == n.From) {
			a.finish(n.Data, nil)
		}
	case isFailure:
		if a := w.pending[n.ID]; a != nil && (!n.former || a.node == n.From) {
			a.finish(nil, decodeError(n.Data))
		}
	case isReset:
		for _, a := range w.pending {
			if a.node == n.From {
				a.finish(nil, errCallLost)
			}
		}
	case isFence:
		b.fence(n.Key, n.Epoch)
	case isJobs:
		select {
		case b.nudges <- struct{}{}:
		default: // it will fetch anyway
		}
	case isLeaseFree:
		b.mu.Lock()
		defer b.mu.Unlock()
		close(b.free)
		b.free = make(chan struct{})
	default:
		b.Logger.Warn("another node sent a note of a kind that this version does not know", "kind", string(n.Kind))
	}
}

// classes are the errors that keep their identity between nodes, by their name in a
// note.
var classes = map[string]error{
	"not found": sessions.ErrNotFound, "conflict": sessions.ErrConflict, "fenced": sessions.ErrFenced, "full": sessions.ErrFull,
	"too many": sessions.ErrTooMany, "no peer": sessions.ErrNoPeer,
	"permanent": channels.ErrPermanent, "removed": channels.ErrRemoved,
	"deadline": context.DeadlineExceeded, "canceled": context.Canceled,
}

// remoteError is an error of another node.
type remoteError struct {
	Text    string         `json:"text"`
	Classes []string       `json:"classes,omitempty"`
	Retry   *time.Duration `json:"retry,omitempty"` // of a channels.Retry
	NotSent bool           `json:"not_sent,omitempty"`
}

func encodeError(err error) []byte {
	f := remoteError{Text: err.Error()}
	f.Text = f.Text[:min(len(f.Text), maxPart/2)]
	for name, class := range classes {
		if errors.Is(err, class) {
			f.Classes = append(f.Classes, name)
		}
	}
	if retry := (*channels.Retry)(nil); errors.As(err, &retry) {
		f.Retry = &retry.After
	}
	f.NotSent = errors.As(err, new(*channels.NotSent))
	return []byte(encode(f))
}

func decodeError(data []byte) error {
	f := &remoteError{}
	if err := json.Unmarshal(data, f); err != nil {
		return errors.New("another node's error cannot be read")
	}
	return f
}

func (f *remoteError) Error() string { return f.Text }

// Unwrap returns an error of each class.
func (f *remoteError) Unwrap() (list []error) {
	for _, name := range f.Classes {
		if class := classes[name]; class != nil {
			list = append(list, class)
		}
	}
	text := errors.New(f.Text)
	if f.Retry != nil {
		list = append(list, &channels.Retry{After: *f.Retry, Err: text})
	}
	if f.NotSent {
		list = append(list, &channels.NotSent{Err: text})
	}
	return list
}

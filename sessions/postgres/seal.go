package postgres

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"
)

// PostgreSQL's NOTIFY and LISTEN ask for no right: whoever may connect to the database may
// send notes to our nodes and hear theirs. So a note is sealed with a key that is kept in
// the schema. Without a right to read the tables nobody can open a note, make one, change
// one, or send a heard one again.
//
// A sealed note is base64 of: the salt of its process, its number there, and the rest
// under AES-256-GCM. The key is drawn from that of the schema and the salt, and the number
// is the nonce, so no nonce is used twice. The channel is sealed, too.

const (
	// maxNoteAge is how old a note may be, by the clock of the database.
	maxNoteAge = time.Minute
	// numbersKept is how many numbers of a process a node remembers: more than a process
	// can use while a note may be delayed. Older notes are refused.
	numbersKept = 1 << 16
	saltBytes   = 16
)

// errNote: a note that was not sealed with our key for this channel, or is old, or was
// heard before.
var errNote = errors.New("a note that no node of this store has just sealed")

// saltOf is the random name of a process in its notes.
type saltOf [saltBytes]byte

// sealer seals the notes of this process, and opens those of others.
type sealer struct {
	key  []byte // of the schema
	salt saltOf
	own  cipher.AEAD
	last atomic.Uint64 // the number of the last note
	// ahead is how far the clock of the database is ahead of ours, in nanoseconds.
	ahead atomic.Int64
	// The rest belongs to the goroutine that receives. since is when this node began to
	// listen on the shared channel. What is older was not for this process.
	shared  string
	since   time.Time
	senders map[saltOf]*sender
}

// sender is what a node knows of another process whose notes it has opened.
type sender struct {
	aead    cipher.AEAD
	heard   time.Time
	highest uint64
	seen    [numbersKept / 64]uint64 // bits, by number modulo numbersKept
}

// newSealer makes the sealer of a process whose store has this key.
func newSealer(key []byte, ahead time.Duration) (*sealer, error) {
	s := &sealer{key: key, senders: map[saltOf]*sender{}}
	_, _ = rand.Read(s.salt[:]) // it never fails
	s.ahead.Store(int64(ahead))
	var err error
	s.own, err = s.cipher(s.salt)
	return s, err
}

func (s *sealer) cipher(salt saltOf) (cipher.AEAD, error) {
	of := hmac.New(sha256.New, s.key)
	of.Write([]byte("dragoman note "))
	of.Write(salt[:])
	block, err := aes.NewCipher(of.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// now is the time by the clock of the database.
func (s *sealer) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// tellTime notes what the clock of the database shows.
func (s *sealer) tellTime(t time.Time) { s.ahead.Store(int64(time.Until(t))) }

func nonceOf(number uint64) []byte {
	nonce := make([]byte, 12)
	binary.BigEndian.PutUint64(nonce[4:], number)
	return nonce
}

// parts returns the payloads of a note with data on a channel.
func (s *sealer) parts(channel string, n note, data []byte) (list []string) {
	n.At = s.now().UnixMilli()
	for {
		part := data[:min(len(data), maxPart)]
		data = data[len(part):]
		n.More = (len(data) + maxPart - 1) / maxPart
		list = append(list, s.seal(channel, n, part))
		if n.More == 0 {
			return list
		}
		n.Rest = true
	}
}

func (s *sealer) seal(channel string, n note, part []byte) string {
	head := []byte(encode(n))
	text := binary.AppendUvarint(nil, uint64(len(head)))
	text = append(text, head...)
	text = append(text, part...)
	number := s.last.Add(1)
	out := append([]byte{}, s.salt[:]...)
	out = binary.BigEndian.AppendUint64(out, number)
	out = s.own.Seal(out, nonceOf(number), text, []byte(channel))
	return base64.RawStdEncoding.EncodeToString(out)
}

// open opens a note that came on a channel: once, and not if it is old. Only the goroutine
// that receives calls it. Error: errNote.
func (s *sealer) open(channel, payload string) (n note, err error) {
	raw, err := base64.RawStdEncoding.DecodeString(payload)
	if err != nil || len(raw) < saltBytes+8 {
		return n, errNote
	}
	salt := saltOf(raw[:saltBytes])
	number := binary.BigEndian.Uint64(raw[saltBytes:])
	from := s.senders[salt]
	if from == nil {
		aead, err := s.cipher(salt)
		if err != nil {
			return n, errNote
		}
		from = &sender{aead: aead}
	}
	text, err := from.aead.Open(nil, nonceOf(number), raw[saltBytes+8:], []byte(channel))
	if err != nil {
		return n, errNote
	}
	size, used := binary.Uvarint(text)
	if used <= 0 || size > uint64(len(text)-used) {
		return n, errNote
	}
	head := text[used : used+int(size)]
	if err := json.Unmarshal(head, &n); err != nil {
		return n, errNote
	}
	n.Data = text[used+int(size):]
	at := time.UnixMilli(n.At)
	age := s.now().Sub(at)
	if age > maxNoteAge || age < -maxNoteAge || channel == s.shared && at.Before(s.since) || !from.isFirst(number) {
		return n, errNote
	}
	from.heard = time.Now()
	s.senders[salt] = from // after it proved that it has the key: others cannot fill the map
	return n, nil
}

// isFirst notes that a number came, and reports whether it came for the first time.
func (f *sender) isFirst(number uint64) bool {
	switch {
	case number > f.highest:
		for n := max(f.highest+1, number-min(number, numbersKept-1)); n <= number; n++ {
			f.seen[n/64%uint64(len(f.seen))] &^= 1 << (n % 64)
		}
		f.highest = number
	case number+numbersKept <= f.highest:
		return false
	}
	word := &f.seen[number/64%uint64(len(f.seen))]
	bit := uint64(1) << (number % 64)
	came := *word&bit != 0
	*word |= bit
	return !came
}

// begin notes that this node listens from now on, on a channel that it shares with others.
func (s *sealer) begin(shared string) {
	if s.since.IsZero() {
		s.shared = shared
		s.since = s.now().Truncate(time.Millisecond)
	}
}

// forget forgets processes that have been silent for so long that every note of theirs is
// too old.
func (s *sealer) forget() {
	for salt, from := range s.senders {
		if time.Since(from.heard) > 2*maxNoteAge {
			delete(s.senders, salt)
		}
	}
}

// openSealer reads the key of the schema.
func (b *backend) openSealer(ctx context.Context) error {
	var key []byte
	var now time.Time
	if err := b.pool.QueryRow(ctx, `SELECT key, clock_timestamp() FROM note_key`).Scan(&key, &now); err != nil {
		return err
	}
	var err error
	b.seal, err = newSealer(key, time.Until(now))
	return err
}

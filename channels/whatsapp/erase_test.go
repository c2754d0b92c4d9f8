//go:build !nowhatsapp

package whatsapp_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// erasable is a network in which Ann and Bob have written, in private and in a group, and
// got answers.
type erasable struct {
	*network
	bob   *wasim.Contact
	group *wasim.Group
	c     *whatsapp.Channel
	inbox *channeltest.Inbox
	stop  func()
	ids   map[string]string // the ids of the messages, by text
}

func newErasable(t *testing.T) *erasable {
	t.Helper()
	x := &erasable{network: newNetwork(t, wasim.Options{}), ids: map[string]string{}}
	x.bob = x.Contact("+15550000003", "Bobby")
	x.group = x.Group("friends", x.ann, x.bob)
	x.c, x.inbox, x.stop = restarted(t, x.network, nil)
	secret := func(text string) *waE2E.Message { // a message with a secret, as phones send it
		return &waE2E.Message{
			Conversation:       proto.String(text),
			MessageContextInfo: &waE2E.MessageContextInfo{MessageSecret: bytes.Repeat([]byte("s"), 32)},
		}
	}
	for n, m := range []struct {
		who      *wasim.Contact
		in       *wasim.Group
		to, name string
	}{{x.ann, nil, "", "ann alone"}, {x.bob, nil, "", "bob alone"}, {x.ann, x.group, "dragoman: ", "ann asks"}, {x.bob, x.group, "dragoman: ", "bob asks"}} {
		x.ids[m.name] = m.who.Send(wasim.Note{In: m.in, Raw: secret(m.to + m.name)})
		got := x.inbox.Wait(t, n+1)[n]
		send(t, x.c, channels.Outbound{ID: fmt.Sprint(n), Key: got.Key, Text: "answer to " + m.name, ReplyTo: got.MessageID})
	}
	x.Faults.IgnoreRetries(true)
	x.Faults.Garble(1)
	x.ann.Say("garbled")
	x.inbox.Until(t, "what cannot be decrypted to be set aside", func() bool { return len(x.inbox.Quarantined()) == 1 })
	x.ann.Send(wasim.Note{Raw: timer(day)})
	x.ann.Send(wasim.Note{In: x.group, Raw: &waE2E.Message{AlbumMessage: &waE2E.AlbumMessage{
		ExpectedImageCount: proto.Uint32(2), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{x.Owner().PN().String()}},
	}}})
	if err := x.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"dragoman_expiry", "dragoman_albums", "dragoman_chats", "dragoman_unread"} {
		if x.tables(t, table) == "" {
			t.Fatalf("%s is empty", table)
		}
	}
	return x
}

// holds returns those of the words that are in the device file or its log.
func (x *erasable) holds(t *testing.T, words ...string) (found []string) {
	t.Helper()
	var all []byte
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		data, err := os.ReadFile(x.file + end)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	for _, w := range words {
		if bytes.Contains(all, []byte(w)) {
			found = append(found, w)
		}
	}
	return found
}

// tables returns all rows of the tables whose names begin with prefix, as text.
func (x *erasable) tables(t *testing.T, prefix string) (text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+x.file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range column(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE ?`, prefix+"%") {
		fields := strings.Join(column(t, db, `SELECT 'quote(' || name || ')' FROM pragma_table_info(?)`, name), " || ' ' || ")
		for _, row := range column(t, db, `SELECT `+fields+` FROM `+name) {
			text += name + ": " + row + "\n"
		}
	}
	return text
}

func column(t *testing.T, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// litter leaves the text of a deleted row in a free page, and a reader that keeps the log
// from being removed.
func (x *erasable) litter(t *testing.T) (words string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+x.file+"?_pragma=busy_timeout(20000)&_pragma=secure_delete(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	words = strings.Repeat("long ago ", 1000)
	for _, query := range []string{
		`INSERT INTO whatsmeow_retry_buffer SELECT our_jid, 'litter@s.whatsapp.net', 'litter', 'wa', CAST('` + words + `' AS BLOB), 0 FROM whatsmeow_retry_buffer LIMIT 1`,
		`DELETE FROM whatsmeow_retry_buffer WHERE message_id = 'litter'`,
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	return words[:100]
}

// Erase leaves none of the data in the device file, except what the encryption needs,
// whether the channel runs or not. Other people's data is kept, and the person can write
// again.
func TestErase(t *testing.T) {
	ann := func(x *erasable) []string { return []string{x.ann.Number()} }
	nobody := func(*erasable) []string { return nil }
	alone := func(x *erasable) []channels.Key { return []channels.Key{x.Key()} }
	for _, test := range []struct {
		name    string
		running bool
		keys    func(*erasable) []channels.Key
		people  func(*erasable) []string
		entries int
		gone    []string // the texts, and the answers to them, that are erased
	}{
		{"a person, running", true, alone, ann, 6, []string{"ann alone", "ann asks"}},
		{"a person by the other name", false, func(*erasable) []channels.Key { return nil }, func(x *erasable) []string {
			return []string{x.ann.LID().String()}
		}, 6, []string{"ann alone", "ann asks"}},
		{"a private conversation", false, alone, nobody, 3, []string{"ann alone"}},
		{"a group, running", true, func(x *erasable) []channels.Key {
			return []channels.Key{channels.MustKey("whatsapp:" + x.group.JID().String())}
		}, nobody, 5, []string{"ann asks", "bob asks"}},
		{"nobody", true, func(*erasable) []channels.Key { return []channels.Key{channels.MustKey("whatsapp:alice")} }, func(*erasable) []string {
			return []string{"+1", "bob"}
		}, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := newErasable(t)
			gone, stays := []string{x.litter(t)}, []string(nil)
			for name, id := range x.ids {
				words := []string{id, "answer to " + name}
				if slices.Contains(test.gone, name) {
					gone = append(gone, words...)
				} else {
					stays = append(stays, words...)
				}
			}
			if all := slices.Concat(gone, stays); len(x.holds(t, all...)) != len(all) {
				t.Fatalf("before Erase the file has only %q of %q", x.holds(t, all...), all)
			}
			if !test.running {
				x.stop()
			}
			called := 0
			n, err := x.c.Erase(t.Context(), test.keys(x), test.people(x), func() error {
				called++
				if x.c.Status().State == channels.StateConnected {
					t.Error("the channel can send before everything is erased")
				}
				return nil
			})
			if n != test.entries || err != nil || called != 1 {
				t.Fatalf("Erase = %d, %v, and called then %d times, want %d entries and one call", n, err, called, test.entries)
			}
			if left := x.holds(t, gone...); left != nil {
				t.Errorf("the file still has %q", left)
			}
			if kept := x.holds(t, stays...); len(kept) != len(stays) {
				t.Errorf("the file has only %q of %q", kept, stays)
			}
			if len(test.people(x)) == 1 {
				for _, name := range []string{x.ann.PN().User, x.ann.LID().User, x.ann.Name()} {
					if rows := x.tables(t, "dragoman"); strings.Contains(rows, name) {
						t.Errorf("%s is still in:\n%s", name, rows)
					}
				}
			}
			if !test.running {
				x.c, x.inbox, x.stop = restarted(t, x.network, nil)
			}
			x.ann.Say("again")
			if all := x.inbox.Wait(t, 1); all[len(all)-1].Text != "again" {
				all = x.inbox.Wait(t, 5)
				if all[4].Text != "again" {
					t.Errorf("the next message is %q", all[4].Text)
				}
			}
		})
	}
}

// If no device was ever linked, Erase creates no file, and calls then and returns its
// error. A file that cannot be read is an error.
func TestEraseWithoutDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whatsapp.device.db")
	c, err := whatsapp.New("whatsapp", whatsapp.Options{Device: path})
	if err != nil {
		t.Fatal(err)
	}
	trouble := errors.New("trouble")
	called := 0
	then := func() error { called++; return trouble }
	keys := []channels.Key{channels.MustKey("whatsapp:+15550000002")}
	if n, err := c.Erase(t.Context(), keys, nil, then); n != 0 || !errors.Is(err, trouble) || called != 1 {
		t.Errorf("Erase = %d, %v, and called then %d times, want its error and one call", n, err, called)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lstat of the file = %v, want that it does not exist", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Erase(t.Context(), keys, nil, then); err == nil || errors.Is(err, trouble) || called != 1 {
		t.Errorf("Erase with a broken file = %v, and called then %d times, want an error and no call", err, called-1)
	}
}

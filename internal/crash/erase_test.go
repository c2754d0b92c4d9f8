//go:build !nowhatsapp

package crash_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/whatsapp"
	"dragoman/internal/media"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// What a person who is erased said, everywhere, and the id of that person.
const (
	saidWord = "zwiebelfisch"
	personID = "7177117"
)

// The person's names, and a group that they were in. They are on WhatsApp, whose
// device file knows people too.
var (
	erasedPerson = "+" + personID
	erasedJID    = personID + "@s.whatsapp.net"
	erasedFrom   = "1203631@g.us"
)

// eraseSteps are the moments at which an erasure is killed: it is written down,
// the channels forgot, the store did, the files are gone, all is gone and the
// audit log does not have it yet. "" is a random moment.
var eraseSteps = []string{"erase.begun", "erase.noted", "erase.store", "erase.files", "erase.done", "", ""}

// eraseHouse is a state directory in which a person is everywhere.
type eraseHouse struct {
	t                         *testing.T
	bin, store, state, config string
}

func newEraseHouse(t *testing.T, bin, store string) *eraseHouse {
	t.Helper()
	dir := t.TempDir()
	h := &eraseHouse{t: t, bin: bin, store: store, state: filepath.Join(dir, "state"), config: filepath.Join(dir, "dragoman.yaml")}
	text := fmt.Sprintf("state_dir: %s\nstore: {type: %s}\nhttp: {listen: \"off\"}\nmodel: {type: openai, base_url: \"http://127.0.0.1:9\", name: fake}\n", h.state, store)
	h.must(os.MkdirAll(h.state, 0o700))
	h.must(os.WriteFile(h.config, []byte(text), 0o600))
	h.fill()
	h.fillDevice()
	return h
}

func (h *eraseHouse) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// fill puts the person into transcripts, a summary, queues, memory, pairings,
// files, what was set aside, and a copy of the whole store.
func (h *eraseHouse) fill() {
	s, _ := openStore(h.t, h.state, h.store)
	records := h.records()
	i := 0
	_, err := s.Restore(h.t.Context(), func() (sessions.Record, error) {
		if i == len(records) {
			return sessions.Record{}, io.EOF
		}
		i++
		return records[i-1], nil
	})
	h.must(err)
	h.must(s.Close())
}

// fillDevice makes a device file, as a WhatsApp channel leaves it that is not
// configured any more, with the person in all that an erasure takes out of it.
func (h *eraseHouse) fillDevice() {
	path := filepath.Join(h.state, "whatsapp.device.db")
	h.must(os.WriteFile(path, nil, 0o600))
	c, err := whatsapp.New("whatsapp", whatsapp.Options{Device: path, Logger: slog.New(slog.DiscardHandler)})
	h.must(err)
	_, err = c.Erase(h.t.Context(), nil, nil, func() error { return nil }) // makes the tables
	h.must(err)
	db, err := sql.Open("sqlite", path)
	h.must(err)
	for _, row := range []string{
		`INSERT INTO dragoman_chats (jid, chat) VALUES ('` + erasedJID + `', '` + erasedPerson + `')`,
		`INSERT INTO dragoman_expiry (chat, seconds) VALUES ('` + erasedPerson + `', 86400)`,
		`INSERT INTO dragoman_albums (id, chat, author, at) VALUES ('A', '` + erasedFrom + `', '` + erasedPerson + `', 1)`,
		`INSERT INTO dragoman_unread (id, since, state, data) VALUES ('U', 1, 0, '{"id":"U","chat":"` + erasedJID + `","sender":"` + erasedJID + `"}')`,
		`INSERT INTO whatsmeow_contacts (our_jid, their_jid, full_name) VALUES ('1@s.whatsapp.net', '` + erasedJID + `', '` + saidWord + `')`,
		`INSERT INTO whatsmeow_message_secrets (our_jid, chat_jid, sender_jid, message_id, key) VALUES ('1@s.whatsapp.net', '` + erasedFrom + `', '` + erasedJID + `', 'M', '` + saidWord + `')`,
		`INSERT INTO whatsmeow_chat_settings (our_jid, chat_jid) VALUES ('1@s.whatsapp.net', '` + erasedJID + `')`,
	} {
		_, err := db.Exec(row)
		h.must(err)
	}
	h.must(db.Close())
	data, err := os.ReadFile(path)
	h.must(err)
	if n := strings.Count(string(data), personID) + strings.Count(string(data), saidWord); n < 10 {
		h.t.Fatalf("the device file has the person in %d places only", n)
	}
}

func (h *eraseHouse) records() []sessions.Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	group, private := channels.MustKey("whatsapp:"+erasedFrom), channels.MustKey("whatsapp:"+erasedPerson)
	file := func(k channels.Key, id string) channels.Inbound {
		in := channels.Inbound{
			Key: k, ID: id, MessageID: id, Text: saidWord, At: at, Private: k == private, Sender: channels.Person{IDs: []string{erasedPerson}, Name: "Ann"},
			Attachments: []channels.Attachment{{Kind: channels.AttachmentImage, Type: "image/png"}},
		}
		in.Attachments[0].File = media.Name(in, 0)
		path := filepath.Join(h.state, "media", filepath.FromSlash(in.Attachments[0].File))
		h.must(os.MkdirAll(filepath.Dir(path), 0o700))
		h.must(os.WriteFile(path, []byte(saidWord), 0o600))
		return in
	}
	var all []sessions.Record
	for _, k := range []channels.Key{group, private} {
		in := file(k, "9"+k.Chat())
		said := sessions.UserMessage(in)
		said.Seq = 1
		other := sessions.Message{Seq: 2, Role: sessions.RoleUser, Content: "bob is here", Sender: "8", Name: "Bob", At: at}
		if k == private {
			other = sessions.Message{Seq: 2, Role: sessions.RoleAssistant, Content: "an answer to " + saidWord, At: at}
		}
		all = append(all,
			sessions.Record{Conversation: &sessions.ConversationRecord{
				Key: k, Seq: 2, MessageSeq: 2, Created: at, Updated: at,
				Generations: []sessions.Generation{{ID: "20260102_00" + fmt.Sprint(1+len(all)%2), FirstSeq: 1, LastSeq: 2, Began: at}},
				Summaries:   []sessions.Summary{{CoversSeq: 1, Text: "They told of " + saidWord, At: at}},
			}},
			sessions.Record{Messages: &sessions.MessagesRecord{Key: k, Messages: []sessions.Message{said, other}}},
			sessions.Record{Inbox: &sessions.InboxRecord{Seq: 1, Inbound: in, Source: sessions.SourceChat, State: "done", Accepted: at}},
			// This one waits, and its file is fetched already.
			sessions.Record{Inbox: &sessions.InboxRecord{Seq: 2, Inbound: file(k, "10"+k.Chat()), Source: sessions.SourceChat, State: "waiting", Accepted: at, Due: at}},
		)
	}
	return append(
		all,
		sessions.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "whatsapp", ID: "5", Raw: []byte(`{"from":` + personID + `,"text":"` + saidWord + `"}`), Why: "no"}, At: at}},
		sessions.Record{Fact: &sessions.FactRecord{Scope: "person:whatsapp:" + erasedPerson, Fact: sessions.Fact{ID: 1, At: at, Text: "likes " + saidWord}}},
		sessions.Record{Pairing: &sessions.Pairing{Channel: "whatsapp", PersonID: erasedPerson, Name: "Ann", Code: "AAAA", Expires: at, Approved: at}},
	)
}

// erase runs the command, and tells whether it came to its end.
func (h *eraseHouse) erase(at string, after time.Duration) (ended bool) {
	h.t.Helper()
	return h.command(at, after, "sessions", "erase", "whatsapp:"+erasedPerson, "--yes")
}

// command runs a command, which kills itself at a step or is killed after a
// while, and tells whether it came to its end.
func (h *eraseHouse) command(at string, after time.Duration, args ...string) (ended bool) {
	h.t.Helper()
	cmd := exec.Command(h.bin, append(args, "--config", h.config)...)
	cmd.Env = append(os.Environ(), "DRAGOMAN_CRASH="+at)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	h.must(cmd.Start())
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	for _, words := range []string{"Dragoman has nothing of", "is not paired on", "no conversation"} {
		if err != nil && strings.Contains(out.String(), words) {
			return true // it had come to its end before it was killed
		}
	}
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		h.t.Fatalf("%q ended with %v:\n%s", args, err, out.String())
	}
	return err == nil
}

// gone wants that no file has the word, and that the audit log tells one story of
// each erasure: a second one if the first was at its end when it was killed.
func (h *eraseHouse) gone() {
	h.t.Helper()
	err := filepath.WalkDir(h.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range []string{saidWord, personID} {
			if strings.Contains(string(data), word) {
				h.t.Errorf("%s has %s", filepath.Base(path), word)
			}
		}
		return err
	})
	h.must(err)
	if _, err := os.Stat(filepath.Join(h.state, "erasing.json")); err == nil {
		h.t.Error("erasing.json is left")
	}
	data, err := os.ReadFile(filepath.Join(h.state, "audit.log"))
	h.must(err)
	var story []string
	ids := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var l struct{ Action, State, ID string }
		h.must(json.Unmarshal([]byte(line), &l))
		if l.Action == "erase" {
			story, ids[l.ID] = append(story, l.State), true
		}
	}
	want := slices.Repeat([]string{"begun", "done"}, len(ids))
	if n := len(ids); n < 1 || n > 2 || !slices.Equal(story, want) {
		h.t.Errorf("the audit log says %v of %d erasures, want begun and done of one or two:\n%s", story, n, data)
	}
}

// TestEraseKilled kills an erasure at each of its steps. The same command, or
// the next start of the daemon, finishes it.
func TestEraseKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds the program")
	}
	t.Parallel()
	bin := build(t)
	for _, store := range []string{"sqlite", "file"} {
		for n, step := range eraseSteps {
			t.Run(fmt.Sprint(store, " ", n, " ", step), func(t *testing.T) {
				h := newEraseHouse(t, bin, store)
				var after time.Duration
				if step == "" {
					after = time.Millisecond + rand.N(150*time.Millisecond)
				}
				ended := h.erase(step, after)
				if ended && step != "" {
					t.Fatalf("the erasure was not killed at %s", step)
				}
				if !ended {
					h.finish(step == "erase.store")
				}
				h.gone()
			})
		}
	}
}

// finish finishes by a daemon, or by the same command.
func (h *eraseHouse) finish(daemon bool) {
	h.t.Helper()
	if !daemon {
		if !h.erase("", 0) {
			h.t.Fatal("the second erasure was killed")
		}
		return
	}
	cmd := exec.Command(h.bin, "run", "--config", h.config)
	h.must(cmd.Start())
	if !testkit.Poll(time.Minute, func() bool { _, err := os.Stat(filepath.Join(h.state, "erasing.json")); return err != nil }) {
		h.t.Error("the daemon did not finish the erasure")
	}
	h.must(cmd.Process.Signal(os.Interrupt))
	h.must(cmd.Wait())
}

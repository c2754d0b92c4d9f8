package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// A file of formerSchema lacks the columns of sessions.Label. What these say is in the
// texts and ids of its deliveries. Programs of that schema would send such a text as it is
// now without its mark, so they must not open a file of schemaVersion.
const formerSchema = 2

// CopySuffix is for the copy of a file of formerSchema.
const CopySuffix = ".before-v3"

// keepFormer reports whether the file is of formerSchema, and copies it if it is.
func (b *backend) keepFormer(o Options) (former bool, kept string, err error) {
	var version int
	err = b.writer.row(context.Background(), `PRAGMA user_version`).Scan(&version)
	if err != nil || version != formerSchema {
		return false, "", err
	}
	kept, err = b.keepCopy(o)
	return true, kept, err
}

// keepCopy copies the file, and tells whoever waits. The copy gets its name when it is
// complete and durable, and replaces no earlier one.
func (b *backend) keepCopy(o Options) (name string, err error) {
	at := cmp.Or(o.CopyTo, b.path+CopySuffix)
	name = at
	for n := 2; ; n++ {
		_, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s.%d", at, n)
	}
	if o.Converting != nil {
		o.Converting(name)
	}
	draft := at + ".new"
	if err := removeFile(draft); err != nil {
		return "", err
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // no other user may read it
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = b.writer.exec(`VACUUM INTO ?`, draft)
	}
	if err == nil {
		err = syncPath(draft)
	}
	if err == nil {
		err = os.Rename(draft, name)
	}
	if err == nil {
		err = syncPath(filepath.Dir(name))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("copy the file before its schema changes: %w", err), removeFile(draft))
	}
	if o.Logger != nil {
		o.Logger.Info("the store is of a former version; a copy of it as it was is kept", "copy", name,
			"remove", "when you will not go back to the version before")
	}
	return name, nil
}

func removeFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// toLabels changes a file of formerSchema: labels get columns, and deliveries and
// questions lose the marks in their texts.
func (t *tx) toLabels() {
	for _, column := range []string{"kind", "turn", "job", "file", "form"} {
		t.addColumn("outbox", column, "TEXT NOT NULL DEFAULT ''")
	}
	for _, column := range []string{"part", "parts"} {
		t.addColumn("outbox", column, "INTEGER NOT NULL DEFAULT 0")
	}
	t.labelOutbox()
	t.labelInbox()
	t.run(fmt.Sprintf(`PRAGMA user_version = %d`, schemaVersion))
}

// markedMost is how many rows are in memory at a time.
const markedMost = 200

// marked is a row whose text, or delivery id, may have a mark.
type marked struct {
	id        int64
	text, did string
	rest      []byte
}

// eachMarked calls f with each row of a table that where chooses.
func (t *tx) eachMarked(query string, args []any, f func(marked)) {
	for after := int64(-1); t.err == nil; {
		list, err := collect(stream(context.Background(), &t.statements, func(row scanner) (m marked, err error) {
			err = row.Scan(&m.id, &m.text, &m.did, &m.rest)
			return m, err
		}, query+` AND id > ? ORDER BY id LIMIT +?`, append(args, after, markedMost)...))
		t.fail(err)
		if len(list) == 0 {
			return
		}
		for _, m := range list {
			f(m)
		}
		after = list[len(list)-1].id
	}
}

func (t *tx) labelOutbox() {
	var args []any
	var like []string
	for _, pattern := range rules.FormerTexts {
		like = append(like, `text LIKE ?`)
		args = append(args, pattern)
	}
	for _, pattern := range rules.FormerIDs {
		like = append(like, `did LIKE ?`)
		args = append(args, pattern)
	}
	t.eachMarked(`SELECT id, text, did, x'' FROM outbox WHERE kind = '' AND (`+strings.Join(like, ` OR `)+`)`, args, func(m marked) {
		was := sessions.OutboxRecord{Delivery: sessions.Delivery{ID: m.did, Text: m.text}}
		o := rules.Former(was)
		if o == was {
			return
		}
		t.run(`UPDATE outbox SET text = ?, kind = ?, turn = ?, job = ?, part = ?, parts = ?, file = ?, form = ? WHERE id = ?`,
			o.Text, string(o.Kind), o.Turn, o.Job, o.Part, o.Parts, o.File, string(o.Form), m.id)
	})
}

func (t *tx) labelInbox() {
	t.eachMarked(`SELECT id, text, '', rest FROM inbox WHERE origin = 'chat' AND text LIKE ?`, []any{rules.FormerQuestion}, func(m marked) {
		in := channels.Inbound{Text: m.text}
		t.fail(decode(m.rest, &inboundRest{Inbound: &in}))
		now := rules.FormerInbound(in)
		t.run(`UPDATE inbox SET text = ?, rest = ? WHERE id = ?`, now.Text, encode(inboundRest{Inbound: &now}), m.id)
	})
}

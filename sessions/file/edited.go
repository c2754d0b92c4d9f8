package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"

	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// contentName is under what the original of a content is kept that the text of
// a message was made of, once that text was edited by hand.
const contentName = "original_content"

// takeEdits has the archive know what was edited by hand in the messages of a
// document: a document shows a message only while it is among the newest. The
// archive is only read if the document is not as the store writes it. The
// caller holds the lock of the conversation.
func (d *disk) takeEdits(doc *document) error {
	path := d.documentPath(doc.Key)
	data, err := os.ReadFile(path)
	if err != nil || untouched(data) {
		return removed(err)
	}
	a, err := readArchive(d.archivePath(doc.Key), doc.ArchiveBytes)
	if errors.Is(err, errDamaged) {
		return nil // it is mended when it is needed, and the document counts
	}
	if err != nil {
		return err
	}
	changed, err := doc.edits(a.Messages)
	if err != nil || len(changed) == 0 {
		return err
	}
	return d.addEdits(doc, changed)
}

// edits are the messages of the document that are not as they are in the
// archive.
func (d *document) edits(archived []sessions.Message) (changed []sessions.Message, err error) {
	for i := range d.Messages {
		m := d.Messages[i].plain()
		at, there := memory.Find(archived, m.Seq)
		if !there {
			continue
		}
		old := archived[at]
		// An edited text takes the place of what it was made of.
		if raw, ok := m.Extra["content"]; ok && m.Content != old.Content {
			delete(m.Extra, "content")
			m.Extra[contentName] = raw
		}
		one, err := json.Marshal(old)
		two, err2 := json.Marshal(m)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		if !bytes.Equal(one, two) {
			changed = append(changed, m)
			d.Messages[i] = newMessage(m)
		}
	}
	return changed, nil
}

// addEdits adds edited messages to the archive and then writes the document
// that counts them.
func (d *disk) addEdits(doc *document, changed []sessions.Message) error {
	st := doc.state()
	lines, err := archiveLines(doc.Head, []change{{st.lsn, memory.ChatChange{Messages: changed}}})
	if err == nil {
		err = appendAt(d.archivePath(doc.Key), st.archived, lines)
	}
	if err != nil {
		return err
	}
	st.archived += int64(len(lines))
	data, err := newDocument(doc.Head, doc.content(), st).encode()
	if err == nil {
		err = replace(d.documentPath(doc.Key), data)
	}
	if err != nil {
		return err
	}
	doc.ArchiveBytes = st.archived
	d.setState(doc.Key, st)
	d.log.Info("messages were edited by hand", "key", doc.Key.String(), "messages", len(changed))
	return d.syncDirs()
}

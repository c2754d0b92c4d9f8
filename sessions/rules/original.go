package rules

import (
	"bytes"
	"encoding/json"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// A message keeps, in Extra and under the name of the field, the whole of a
// usage, of what was attached or of attachments that have fields of others in them. It is shown in
// the place of ours as long as what is ours in it is what ours says.

var (
	usageShape       = ShapeOf[sessions.Usage]()
	attachedShape    = ShapeOf[sessions.Attached]()
	attachmentsShape = ShapeOfList[channels.Attachment]("attachments")
)

// Read puts into into what is ours in raw, by our names to the letter: as
// encoding/json reads objects, a name of others in other letters would take the
// place of ours. Whole says that there is nothing else in raw.
func (s *Shape) Read(raw []byte, into any) (whole bool, err error) {
	if !json.Valid(raw) {
		return false, json.Unmarshal(raw, into) // which says what is wrong
	}
	ours, theirs := s.Split(raw)
	return len(theirs) == 0, json.Unmarshal(ours, into)
}

// ReadUsage reads a usage. Whole says that nothing of others is in it.
func ReadUsage(raw json.RawMessage) (u sessions.Usage, whole, ok bool) {
	ours, theirs := usageShape.Split(raw)
	ok = isObject(raw) && json.Unmarshal(ours, &u) == nil
	return u, len(theirs) == 0, ok
}

// ReadAttached reads what a provider attached. Whole says that nothing of
// others is in it; ok says that it is one of ours, which name the API.
func ReadAttached(raw json.RawMessage) (a *sessions.Attached, whole, ok bool) {
	ours, theirs := attachedShape.Split(raw)
	if !isObject(raw) || json.Unmarshal(ours, &a) != nil || a.By.API == "" {
		return nil, false, false
	}
	a = attached(a)
	return a, len(theirs) == 0, a != nil
}

// ReadAttachments reads attachments. Whole says that nothing of others is in
// them; if something is, each has to be of a kind of ours.
func ReadAttachments(raw json.RawMessage) (files []channels.Attachment, whole, ok bool) {
	ours, theirs := attachmentsShape.Split(raw)
	if json.Unmarshal(ours, &files) != nil || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil, false, false
	}
	whole = len(theirs) == 0
	return files, whole, whole || !slices.ContainsFunc(files, func(a channels.Attachment) bool { return !slices.Contains(kinds, a.Kind) })
}

var kinds = []channels.AttachmentKind{
	channels.AttachmentImage, channels.AttachmentSticker, channels.AttachmentVoice,
	channels.AttachmentAudio, channels.AttachmentVideo, channels.AttachmentDocument,
}

// WithAttachments is ours with what others have in original, if the two tell of
// the same files.
func WithAttachments(ours []channels.Attachment, original json.RawMessage) (with json.RawMessage, ok bool) {
	files, whole, ok := ReadAttachments(original)
	if !ok || whole || !slices.Equal(WithoutRefs(files), WithoutRefs(ours)) {
		return nil, false
	}
	return withOthers(ours, original)
}

// OriginalAttachments is raw, of attachments, as it may be kept: without what
// may hold the key that opens a file.
func OriginalAttachments(raw json.RawMessage) json.RawMessage {
	files, _, ok := ReadAttachments(raw)
	if !ok || !slices.ContainsFunc(files, func(a channels.Attachment) bool { return a.Ref != "" }) {
		return raw
	}
	if with, ok := withOthers(WithoutRefs(files), raw); ok {
		return with
	}
	return raw
}

func withOthers(files []channels.Attachment, original json.RawMessage) (json.RawMessage, bool) {
	raw, err := json.Marshal(files)
	if err != nil {
		return nil, false
	}
	_, theirs := attachmentsShape.Split(original)
	with, _ := attachmentsShape.Put(raw, theirs)
	return with, true
}

// WithoutRefs leaves out what may hold the key that opens a file.
func WithoutRefs(files []channels.Attachment) []channels.Attachment {
	files = slices.Clone(files)
	for i := range files {
		files[i].Ref = ""
	}
	return files
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

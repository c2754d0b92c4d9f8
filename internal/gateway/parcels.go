package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf16"

	"dragoman/channels"
	"dragoman/sessions"
)

// MostSent is the size of the largest file that an answer sends. It is in memory while it is
// sent.
const MostSent = 20 << 20

// sentFiles are the files that the calls of a turn send, as replies without a key.
func sentFiles(turn string, messages []sessions.Message) (replies []sessions.Reply) {
	for _, m := range messages {
		if m.Role != sessions.RoleTool || m.Turn != turn {
			continue
		}
		for _, a := range m.Attachments {
			replies = append(replies, fileReply(a))
		}
	}
	return replies
}

// attachmentsOf are the files of replies, for the transcript.
func attachmentsOf(files []sessions.Reply) (all []channels.Attachment) {
	for _, f := range files[:min(len(files), channels.MaxAttachments)] {
		a, _ := f.Attachment()
		all = append(all, a)
	}
	return all
}

// fileReply sends a kept file. Its text is for networks that take none.
func fileReply(a channels.Attachment) sessions.Reply {
	return sessions.Reply{
		Label: sessions.Label{File: a.Name, Kept: a.File, As: a.Kind},
		Text:  fmt.Sprintf("[%s %s, %s]", a.Kind, a.Name, channels.SizeText(a.Bytes)),
	}
}

// withFiles adds files to an answer, as further parts of it.
func withFiles(answer, files []sessions.Reply) []sessions.Reply {
	if len(files) == 0 || len(answer) == 0 {
		return answer
	}
	first := answer[0]
	for _, f := range files {
		f.Kind = first.Kind
		f.Turn = first.Turn
		f.Job = first.Job
		f.Key = first.Key
		f.ReplyTo = answer[len(answer)-1].ReplyTo
		answer = append(answer, f)
	}
	for i := range answer {
		answer[i].Part = i + 1
		answer[i].Parts = len(answer)
	}
	return answer
}

// mostCaption is how many UTF-16 units an answer may have to be a caption. Telegram takes
// 1,024, and a mark of a repeat may come before it.
const mostCaption = 1000

// asCaption makes a short answer the caption of the one picture that it brings, where people
// would otherwise get two messages. Those who read from the store see both together anyway,
// and the message of a preview cannot become a picture.
func (r *run) asCaption(answer, files []sessions.Reply) bool {
	if len(answer) != 1 || len(files) != 1 || files[0].As != channels.AttachmentImage || r.b == nil || r.mirrored() {
		return false
	}
	first := &answer[0]
	_, sends := r.b.Channel.(channels.Filer)
	if !sends || first.Edit != "" || first.File != "" || first.Form != channels.FormMarkdown || len(utf16.Encode([]rune(first.Text))) > mostCaption {
		return false
	}
	first.File = files[0].File
	first.Kept = files[0].Kept
	first.As = files[0].As
	return true
}

// hasCaption reports whether the text of a message with the label l is the answer, which the
// first part of an answer always has. A voice message says it.
func hasCaption(l sessions.Label) bool {
	return l.Kept != "" && l.As == channels.AttachmentImage && l.Part <= 1
}

// sayLost is added where a file was deleted before it was sent.
const sayLost = " (The file is no longer here.)"

// withContent is o with the content of its kept file. If that was deleted, o is its text. An
// error means that nothing was sent, and that it may pass.
func (g *Gateway) withContent(o channels.Outbound) (channels.Outbound, error) {
	if o.File == nil || o.File.Kept == "" {
		return o, nil
	}
	f := *o.File
	content, err := g.readKept(f.Kept)
	if errors.Is(err, fs.ErrNotExist) {
		o.File = nil
		o.Text = f.Instead
		if f.Kind != channels.AttachmentVoice { // whose text says all of it
			o.Text += sayLost
		}
		return o, nil
	}
	if err != nil {
		return o, &channels.NotSent{Err: fmt.Errorf("gateway: read a file to send: %w", err)}
	}
	f.Kept = ""
	f.Content = content
	f.Type = channels.ContentType(content[:min(len(content), channels.ContentHead)], content[max(0, len(content)-channels.ContentTail):])
	if seconds, is := channels.OpusSeconds(content); is {
		f.Type = "audio/ogg"
		f.Seconds = seconds
	}
	o.File = &f
	return o, nil
}

// readKept returns a kept file of at most MostSent bytes.
func (g *Gateway) readKept(file string) (string, error) {
	if g.opts.Kept == nil {
		return "", fs.ErrNotExist
	}
	f, err := g.opts.Kept.Open(file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	_, err = io.Copy(&b, io.LimitReader(f, MostSent))
	return b.String(), errors.Join(err, f.Close())
}

package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Outgoing keeps files until they are sent.
type Outgoing interface {
	// Outgoing keeps content for the answer to c, once for each call, and returns a with its
	// File set. The error says why the chat of c gets no such file.
	Outgoing(ctx context.Context, c agent.Call, a channels.Attachment, content io.Reader) (channels.Attachment, error)
	// Most is how many bytes a file may have.
	Most() int64
}

// sendFileArgs are the arguments of send_file.
type sendFileArgs struct {
	Path string `json:"path"`
}

var _ = builtin(func(n Needs) agent.Tool { return SendFile(n.Workspace, n.Outgoing) })

// SendFile is the tool send_file: a file of w goes out with the answer. What is sent is what
// the file holds at the time of the call.
func SendFile(w *Workspace, to Outgoing) agent.Tool {
	return newTool(agent.Spec{
		Name:        "send_file",
		Description: "Send a file of the workspace with your answer.",
		Repeatable:  true, // each call is kept and sent once
		Effect:      agent.EffectOwn,
		Origin:      sessions.OriginModel,
		Keep:        -40,
		Chat:        true,
	}, inWorkspace(w, func(ctx context.Context, w *Workspace, c agent.Call, args sendFileArgs) (string, error) {
		return w.send(ctx, c, args.Path, to)
	}))
}

// send has to keep the file and attaches it to the call.
func (w *Workspace) send(ctx context.Context, c agent.Call, file string, to Outgoing) (string, error) {
	clean, err := local(file)
	switch {
	case err != nil:
		return "", err
	case to == nil:
		return "", errors.New("no files can be sent here; put what matters into your answer")
	case c.Sending >= channels.MaxAttachments:
		return "", fmt.Errorf("this answer sends %d files already, and more do not fit", c.Sending)
	}
	f, size, err := w.openRegular(clean)
	if err != nil {
		return "", err
	}
	defer f.Close() // nothing was written
	switch {
	case size == 0:
		return "", fmt.Errorf("%q is empty, and networks take no empty files", clean)
	case size > to.Most():
		return "", fmt.Errorf("%q has %s; at most %s can be sent", clean, channels.SizeText(size), channels.SizeText(to.Most()))
	}
	head := make([]byte, channels.ContentHead)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", explain(clean, err)
	}
	tail := make([]byte, min(size, channels.ContentTail))
	last, err := f.ReadAt(tail, size-int64(len(tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", explain(clean, err)
	}
	a := sentAs(path.Base(clean), channels.ContentType(string(head[:n]), string(tail[:last])))
	a.Bytes = size
	a, err = to.Outgoing(ctx, c, a, f)
	if err != nil {
		return "", err
	}
	c.Attach(a)
	return fmt.Sprintf("[%s, %s, is sent after your answer]", clean, channels.SizeText(a.Bytes)), nil
}

// sentAs says what a file of a type is shown as. Networks show these pictures
// and this sound; everything else is a document.
func sentAs(name, contentType string) channels.Attachment {
	a := channels.Attachment{Kind: channels.AttachmentDocument, Name: sessions.OneLine(name, 100)}
	a.Type, _, _ = strings.Cut(contentType, ";")
	switch a.Type {
	case "image/jpeg", "image/png":
		a.Kind = channels.AttachmentImage
	case "audio/mpeg":
		a.Kind = channels.AttachmentAudio
	}
	if ending := strings.ToLower(path.Ext(name)); strings.HasPrefix(a.Type, "text/") && textTypes[ending] != "" {
		a.Type = textTypes[ending]
	}
	return a
}

// textTypes are the types of texts, whose content does not tell them.
var textTypes = map[string]string{".md": "text/markdown", ".csv": "text/csv", ".json": "application/json", ".html": "text/html", ".xml": "text/xml"}

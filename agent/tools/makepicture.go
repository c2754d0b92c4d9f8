package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// Drawing has pictures made.
type Drawing interface {
	// Draw has a picture made of a prompt and keeps it for the answer to c, under a name with
	// the right ending. A call that runs again after a crash gets the picture that it has kept.
	Draw(ctx context.Context, c agent.Call, prompt, name string) (channels.Attachment, error)
	// MostTime is how long that may take, and MostPictures how many one answer may have.
	MostTime() time.Duration
	MostPictures() int
}

// maxPrompt is how long a prompt may be in characters: what OpenAI's smallest model takes.
const maxPrompt = 4000

// makePictureArgs are the arguments of make_picture.
type makePictureArgs struct {
	Prompt string `json:"prompt" jsonschema:"What it shows, and in which style"`
}

var _ = builtin(func(n Needs) agent.Tool { return MakePicture(n.Drawing) })

// MakePicture is the tool make_picture: a picture that a server draws goes out with the
// answer. d is nil where no server is configured; then the tool is off.
//
// The prompt goes to a server that the operator chose for it, as each request goes to the
// model's, and the picture to the chat that is answered. So words leave no more than by
// answering.
func MakePicture(d Drawing) agent.Tool {
	spec := agent.Spec{
		Name:        "make_picture",
		Description: "Draw a picture. It is sent with your answer, as whose caption one short sentence reads best.",
		// A picture is kept before the call ends, and drawn again only if it was not.
		Repeatable: true,
		Effect:     agent.EffectOwn,
		Origin:     sessions.OriginModel,
		Keep:       -30,
		Chat:       true,
	}
	if d == nil {
		spec.Off = "it needs a server that draws: set drawing.url and drawing.model"
	} else {
		spec.Patience = d.MostTime()
	}
	return newTool(spec, func(ctx context.Context, c agent.Call, args makePictureArgs) (string, error) {
		prompt := strings.TrimSpace(args.Prompt)
		switch {
		case d == nil: // nobody is offered it
			return "", errors.New(spec.Off)
		case prompt == "":
			return "", errors.New("the prompt is empty; describe the picture")
		case utf8.RuneCountInString(prompt) > maxPrompt:
			return "", fmt.Errorf("the prompt has more than %d characters; shorten it", maxPrompt)
		case c.Delegate == nil:
			return "", errors.New("a helper sends no pictures; answer with what should be drawn")
		case c.Sending >= d.MostPictures():
			return "", fmt.Errorf("this answer has %d files already, and more are not drawn for it", c.Sending)
		}
		a, err := d.Draw(ctx, c, prompt, pictureName(prompt))
		if err != nil {
			return "", err
		}
		c.Attach(a)
		return fmt.Sprintf("[%s, %s, is drawn, and sent with your answer]", a.Name, channels.SizeText(a.Bytes)), nil
	})
}

// pictureName is a name for a picture without an ending: the first words of its prompt.
func pictureName(prompt string) string {
	words := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	})
	const most = 40 // bytes
	name := ""
	for _, word := range words {
		if len(name)+len(word)+1 > most {
			break
		}
		name = strings.TrimPrefix(name+"-"+word, "-")
	}
	if name == "" {
		return "picture"
	}
	return name
}

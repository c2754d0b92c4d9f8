package openai

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"dragoman/agent"
)

// Some servers refuse a request for the pictures in it: the model has no eyes,
// or it takes fewer than there are, or one of them is not to its liking. The
// person gets an answer all the same: the request is made again without them,
// and what the message's text says of each has to do.

// pictureError is an error of a server that is about pictures.
type pictureError struct {
	error
	// most is how many pictures the next try may show.
	most int
	// lasting says that this holds for every request.
	lasting bool
}

// Unwrap returns the error itself.
func (e *pictureError) Unwrap() error { return e.error }

// sightWords are in whatever servers say of pictures, in lower case.
var sightWords = []string{"image", "picture", "vision", "multimodal", "multi-modal", "mmproj"}

// blindWords are how servers say that a model has no eyes, in lower case:
// llama.cpp, vLLM, SGLang, Ollama, OpenAI, LM Studio, OpenRouter, LiteLLM, and
// those that know only text in messages: DeepSeek, Groq, Mistral, FastAPI.
var blindWords = []string{
	"image input is not supported", "images are not supported", "image inputs are not supported", "image_url is not supported",
	"not support image", "not support vision", "not support multimodal", "not support multi-modal", "not support picture",
	"not a multimodal model", "not a vision model", "not multimodal", "not have vision", "no vision",
	"support image input", "vision is not supported", "multimodal is not supported", "multimodal data provided",
	"image_url is only supported by", "image input is not enabled", "image input is disabled", "compiled for multimodal",
	"missing data required for image input", "only supports text", "only text is supported", "text-only",
	"unknown variant `image_url`", "'image_url' is not", "invalid value: 'image_url'", "unexpected content type: image_url",
	"content must be a string", "content : value must be a string", "content' : value must be a string",
	"input should be a valid string", "expected a string", "expected string",
}

// fewer are how servers say that they take fewer pictures in one request.
var fewer = regexp.MustCompile(`at most (\d{1,4}) image|maximum (?:number )?of (\d{1,4}) image|only supports one image`)

// aboutPictures says what e, which came with an HTTP status, means for the
// pictures of its request; nil if it is not about them. A server that has just
// no time for anybody does not mean them.
func (e *wireError) aboutPictures(status int, err error) error {
	words := strings.ToLower(e.Code + "\n" + e.Type + "\n" + e.Message)
	found := fewer.FindStringSubmatch(words)
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusUnauthorized, status == http.StatusPaymentRequired:
		return err
	case found != nil:
		most := 1
		if n, bad := strconv.Atoi(found[1] + found[2]); bad == nil {
			most = n
		}
		return &pictureError{err, most, true}
	case mentions(words, blindWords):
		return &pictureError{err, 0, true}
	case mentions(words, sightWords), status == http.StatusRequestEntityTooLarge:
		return &pictureError{err, 0, false}
	}
	return err
}

// show is how many pictures a request may have now.
func (m *Model) show() int {
	if m.o.Files == nil {
		return 0
	}
	return mostImages - int(m.fewer.Load())
}

// learn remembers for the life of m how many pictures its server takes.
func (m *Model) learn(e *pictureError) {
	less := int32(mostImages - e.most)
	if !e.lasting || m.fewer.Swap(less) == less {
		return
	}
	m.o.Logger.Warn("the model's server refuses pictures; from now on it is shown fewer, and reads of the others in words",
		"model", m.o.Name, "most", e.most)
}

// again is the error that asks for another try with fewer pictures than shown,
// or nil.
func again(err error, a *answer, shown int) *pictureError {
	e, ok := err.(*agent.ModelError)
	if !ok || shown == 0 || a.begun {
		return nil
	}
	p, ok := e.Err.(*pictureError)
	if !ok {
		return nil
	}
	if p.most >= shown {
		p.most, p.lasting = 0, false // it says one thing and means another
	}
	return p
}

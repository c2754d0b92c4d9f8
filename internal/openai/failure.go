package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"dragoman/agent"
	"dragoman/internal/respond"
)

// refusalOf is what the client learns of a turn that failed. began: a tool of ours has
// begun, so that no client may repeat the request by itself.
func (s *server) refusalOf(err error, began bool) *respond.Refusal {
	no := s.refusalFor(err)
	if !began || no.Code == "not_kept" {
		return no
	}
	sentence := no.Sentence
	if !strings.HasSuffix(sentence, ".") {
		sentence += "."
	}
	return &respond.Refusal{
		Status: http.StatusUnprocessableEntity, Code: "turn_failed", NoRepeat: true, Cause: no.Cause,
		Sentence: sentence + " Tools had run before. The same request with the same Idempotency-Key goes on where this one stopped.",
	}
}

func (s *server) refusalFor(err error) *respond.Refusal {
	if no, ok := errors.AsType[*respond.Refusal](err); ok {
		return no
	}
	if failed, ok := errors.AsType[*agent.ModelError](err); ok {
		return ofModel(failed)
	}
	switch {
	case errors.Is(err, ErrStopping):
		return &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: "Dragoman is starting or stopping. Try again in a moment.", Cause: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &respond.Refusal{Status: http.StatusServiceUnavailable, Sentence: "The request was ended before it was answered.", Cause: err}
	}
	s.Logger.Error("a turn of OpenAI's API failed", "err", err)
	return &respond.Refusal{Status: http.StatusInternalServerError, Sentence: "The turn failed by an internal error.", Cause: err}
}

// ofModel is what the client learns of a failed model call: the words of the model's
// server, which hold no secret.
func ofModel(e *agent.ModelError) *respond.Refusal {
	words := strings.TrimPrefix(e.Err.Error(), "wire: complete: ")
	no := &respond.Refusal{Status: http.StatusBadGateway, Code: "upstream_error", NoRepeat: true, Cause: e, Sentence: "The model's server refused the request: " + words}
	switch {
	case e.Kind == agent.ErrorContext:
		return &respond.Refusal{
			Status: http.StatusBadRequest, Code: "context_length_exceeded", Param: "messages", Cause: e,
			Sentence: "The request does not fit into the model's context, even without its older messages.",
		}
	case e.Cause == agent.CauseFilter:
		no.Status = http.StatusBadRequest
		no.Code = finishFilter
	case e.Kind == agent.ErrorTemporary:
		no.Status = http.StatusServiceUnavailable
		no.NoRepeat = false
		no.RetryAfter = e.After
		no.Sentence = "The model's server does not answer: " + words
	}
	return no
}

package provider

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// A refusal is a way in which servers say that they do not take a part of the
// request. The first one that matches teaches a lesson, and the request is made
// again. All words are in lower case.

// adapt changes t so that it is worth asking again after err; it reports
// whether it did.
func (t *try) adapt(err error) bool {
	var me *agent.ModelError
	var said *wire.Said
	if t.begun || t.tries >= mostLessons || !errors.As(err, &me) || !errors.As(me.Err, &said) {
		return false
	}
	switch said.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusTooManyRequests, http.StatusForbidden:
		return false
	}
	if me.Kind == agent.ErrorContext && said.Status != http.StatusRequestEntityTooLarge || me.Limit > 0 {
		return false
	}
	t.tries++
	for _, refused := range refusals {
		if refused(t, said) {
			return true
		}
	}
	return false
}

// refusals are in order: what names two things is about the first.
var refusals = []func(t *try, said *wire.Said) bool{
	(*try).otherAPI, (*try).noSuchAPI, (*try).pictures,
	teaches("tools=no", (*try).tools, (*wire.Said).RefusesTools),
	// Templates that take one call in a message: those of Llama 3.1 to 3.3. The
	// history has more where another model made them.
	teaches("parallel_calls=no", always, says(`only supports? (?:a )?single tool[- ]calls?\b`)),
	// Templates without tools that want user and assistant in turn. So they are in
	// our requests, but for what tools answered.
	teaches("tools=no", (*try).answered, says(`roles must alternate`)),
	teaches("own_thoughts=yes", always, says(`reasoning_content\b[^\n]{0,120}(?:missing|must be|required|passed back|is not provided)|missing[^\n]{0,60}reasoning_content`)),
	teaches("signatures=yes", always, says(`missing[^\n]{0,40}thought_?signature|thought_?signature\b[^\n]{0,60}(?:missing|required|must be)`)),
	(*try).badSignature, (*try).noEffort,
	teaches("temperature=no", func(t *try) bool { return t.r.Temperature != nil }, refuses("temperature")),
	(*try).tokensName,
	teaches("usage=no", always, refuses("stream_options", "include_usage")),
	teaches("response_format=no", func(t *try) bool { return len(t.r.Format) > 0 }, refuses("response_format", "json_schema", "text.format")),
}

// teaches is a refusal in such words of a request that has what they are about.
func teaches(lesson string, about func(*try) bool, words func(*wire.Said) bool) func(*try, *wire.Said) bool {
	return func(t *try, said *wire.Said) bool { return about(t) && words(said) && t.learn(lesson, said) }
}

func always(*try) bool { return true }

// tools reports whether the request has any.
func (t *try) tools() bool { return len(t.r.Tools) > 0 && !t.know.traits.NoTools }

// answered reports whether the request has results of tools.
func (t *try) answered() bool {
	return slices.ContainsFunc(t.r.Messages, func(m sessions.Message) bool { return m.Role == sessions.RoleTool })
}

// says are words of that form.
func says(form string) func(*wire.Said) bool {
	words := lazily.Compile(form)
	return func(said *wire.Said) bool { return words.Regexp().MatchString(said.Words) }
}

// unsupported is how servers say that they do not know or take a field.
var unsupported = lazily.Compile(`not (?:be )?(?:currently )?(?:support|allow|permit|valid|recogni|accept|a valid|available)|n't support|unsupported|unknown|unrecogni|unexpected|invalid|extra (?:inputs|fields)|additional propert|only (?:the default|\d)|must be|deprecated|incompatible`)

// refuses are words about one of these fields of the body.
func refuses(fields ...string) func(*wire.Said) bool {
	return func(said *wire.Said) bool {
		return slices.ContainsFunc(fields, func(field string) bool {
			return said.Param == field || strings.Contains(said.Words, field) && unsupported.Regexp().MatchString(said.Words)
		})
	}
}

var (
	wantsResponses = lazily.Compile(`\bv1/responses\b|\bresponses api\b|only supported in v1/responses`)
	wantsNone      = lazily.Compile(`reasoning[_.]effort\S* (?:to|=|must be|as)\W{0,3}none\b`)
	wantsChat      = lazily.Compile(`\b(?:use|in|only) (?:the )?/?(?:v1/)?chat/completions\b`)
)

// otherAPI is how OpenAI refuses tools by chat completions, and models that
// only have one API.
func (t *try) otherAPI(said *wire.Said) bool {
	k := &t.know.traits
	if wantsResponses.Regexp().MatchString(said.Words) && k.API != wire.APIResponses && t.switchTo(wire.APIResponses, said) {
		return true
	}
	if k.API == wire.APIResponses && wantsChat.Regexp().MatchString(said.Words) && t.switchTo(wire.APIChat, said) {
		return true
	}
	if t.tools() && k.ToolsNeed == "" && wantsNone.Regexp().MatchString(said.Words) {
		return t.learn("tools_need=none", said)
	}
	return false
}

// switchTo switches to another API, if the choice is ours.
func (t *try) switchTo(api string, said *wire.Said) bool {
	return t.m.auto && t.m.codecs[api] != nil && t.learn("api="+api, said)
}

// noSuchAPI is a server that has chat completions and nothing else, which most
// have not.
func (t *try) noSuchAPI(said *wire.Said) bool {
	switch said.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
	default:
		return false
	}
	if t.know.traits.API == wire.APIChat || strings.Contains(said.Words, "model") {
		return false
	}
	return t.switchTo(wire.APIChat, said)
}

// tokensName is about the two names that the bound of an answer has.
func (t *try) tokensName(said *wire.Said) bool {
	const old, current = "max_tokens", "max_completion_tokens"
	k := &t.know.traits
	if t.r.MaxTokens <= 0 || k.API != wire.APIChat && k.API != "" {
		return false
	}
	if !k.CompletionTokens {
		return strings.Contains(said.Words, current) && refuses(old)(said) && t.learn("max_tokens="+current, said)
	}
	return refuses(current)(said) && t.learn("max_tokens="+old, said)
}

var (
	aboutEffort = lazily.Compile(`reasoning[_.]?effort|reasoning\.effort|\breasoning\b|\bthinking\b|output_config|\beffort\b`)
	quoted      = lazily.Compile(`["'\x60](none|minimal|low|medium|high|xhigh|max)["'\x60]`)
	choices     = lazily.Compile(`\b(?:supported|valid|allowed|possible|accepted|permitted)\b[^\n]{0,40}(?:values?|are|is|options)|must be one of|expected one of|one of`)
)

// noEffort is about a reasoning effort that the model does not know: it names
// those that it knows, or knows none.
func (t *try) noEffort(said *wire.Said) bool {
	k := &t.know.traits
	needed := t.tools() && k.ToolsNeed != ""
	if !needed && k.Effort(t.r.Effort) == "" || !aboutEffort.Regexp().MatchString(said.Words) || !unsupported.Regexp().MatchString(said.Words) {
		return false
	}
	var known []string
	if at := choices.Regexp().FindStringIndex(said.Words); at != nil {
		for _, found := range quoted.Regexp().FindAllStringSubmatch(said.Words[at[0]:], -1) {
			if !slices.Contains(known, found[1]) {
				known = append(known, found[1])
			}
		}
	}
	if needed {
		return t.learn("tools_need=", said) || t.learn("tools=no", said)
	}
	if slices.Contains(known, k.Effort(t.r.Effort)) {
		known = nil // that was sent; it is about something else
	}
	return t.learn("efforts="+strings.Join(known, " "), said)
}

var signatureBad = lazily.Compile(`(?:corrupt|invalid|malformed|not valid|expired|bad)\w*[^\n]{0,40}signature|signature\W[^\n]{0,40}(?:corrupt|invalid|not valid|malformed|expired|does not match|could not be)` +
	`|invalid_encrypted_content|encrypted content[^\n]{0,80}(?:could not|cannot|can't|invalid)|(?:decrypt|verif)\w*[^\n]{0,40}(?:reasoning|encrypted|thinking)|item '?rs_\w+'?[^\n]{0,60}not found|thinking blocks?[^\n]{0,60}cannot be modified`)

// badSignature is about what a provider attached and does not know any more.
// Once more without it, and nothing to remember: the next message has its own.
func (t *try) badSignature(said *wire.Said) bool {
	if t.bare || !signatureBad.Regexp().MatchString(said.Words) {
		return false
	}
	t.bare = true
	return true
}

// Some servers refuse a request for the pictures in it: the model has no eyes,
// or it takes fewer than there are, or one of them is not to its liking. The
// person gets an answer all the same: the request is made again without them,
// and what the message's text says of each has to do.

// sightWords are in whatever servers say of pictures.
var sightWords = []string{"image", "picture", "vision", "multimodal", "multi-modal", "mmproj"}

// blindWords are how servers say that a model has no eyes: llama.cpp, vLLM,
// SGLang, Ollama, OpenAI, LM Studio, OpenRouter, LiteLLM, and those that know
// only text in messages: DeepSeek, Groq, Mistral, FastAPI.
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
var fewer = lazily.Compile(`at most (\d{1,4}) image|maximum (?:number )?of (\d{1,4}) image|only supports one image`)

// pictures asks with fewer pictures, or none. That is remembered only where it
// holds for every request.
func (t *try) pictures(said *wire.Said) bool {
	if t.shown == 0 {
		return false
	}
	most, lasting := 0, true
	found := fewer.Regexp().FindStringSubmatch(said.Words)
	switch {
	case found != nil:
		most = 1
		if n, bad := strconv.Atoi(found[1] + found[2]); bad == nil {
			most = n
		}
	case said.Mentions(blindWords):
	case said.Mentions(sightWords), said.Status == http.StatusRequestEntityTooLarge:
		lasting = false
	default:
		return false
	}
	if most >= t.shown {
		most, lasting = 0, false // it says one thing and means another
	}
	if lasting {
		return t.learn("pictures="+strconv.Itoa(most), said)
	}
	t.know.most = most
	t.learnt = slices.DeleteFunc(t.learnt, func(l Learned) bool { return strings.HasPrefix(l.What, "pictures=") })
	return true
}

package provider

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// adapt changes t after a refusal so that the request is worth repeating. It
// reports whether it did. The first function in refusals that matches teaches a
// lesson. All words are in lower case.
func (t *try) adapt(err error) bool {
	var me *agent.ModelError
	var refusal *wire.ServerError
	if t.started || t.tries >= maxAdaptations || !errors.As(err, &me) || !errors.As(me.Err, &refusal) {
		return false
	}
	switch refusal.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusTooManyRequests, http.StatusForbidden:
		return false
	}
	if me.Kind == agent.ErrorContext && refusal.Status != http.StatusRequestEntityTooLarge || me.Limit > 0 {
		return false
	}
	t.tries++
	for _, refused := range refusals {
		if refused(t, refusal) {
			return true
		}
	}
	return false
}

// refusals are tried in order: an error that names two things is about the
// first.
var refusals = []func(t *try, refusal *wire.ServerError) bool{
	(*try).otherAPI, (*try).noSuchAPI, (*try).picturesRefused,
	teaches("tools=no", (*try).hasTools, (*wire.ServerError).RefusesTools),
	// The templates of Llama 3.1 to 3.3 take one call per message. The history may
	// have more calls of another model.
	teaches("parallel_calls=no", always, matches(`only supports? (?:a )?single tool[- ]calls?\b`)),
	// Templates without tools want user and assistant to alternate. In our requests
	// they do, except for tool results.
	teaches("tools=no", (*try).hasToolResults, matches(`roles must alternate`)),
	teaches("own_thoughts=yes", always, matches(`reasoning_content\b[^\n]{0,120}(?:missing|must be|required|passed back|is not provided)|missing[^\n]{0,60}reasoning_content`)),
	teaches("signatures=yes", always, matches(`missing[^\n]{0,40}thought_?signature|thought_?signature\b[^\n]{0,60}(?:missing|required|must be)`)),
	(*try).attachedRefused, (*try).effortRefused,
	teaches("temperature=no", func(t *try) bool { return t.r.Temperature != nil }, refuses("temperature")),
	(*try).tokensField,
	teaches("usage=no", always, refuses("stream_options", "include_usage")),
	teaches("response_format=no", func(t *try) bool { return len(t.r.Format) > 0 }, refuses("response_format", "json_schema", "text.format")),
}

// teaches returns a refusal that matches if the request has the thing in
// question (about) and the server's words match.
func teaches(lesson string, about func(*try) bool, words func(*wire.ServerError) bool) func(*try, *wire.ServerError) bool {
	return func(t *try, refusal *wire.ServerError) bool {
		return about(t) && words(refusal) && t.learn(lesson, refusal)
	}
}

func always(*try) bool { return true }

func (t *try) hasTools() bool { return len(t.r.Tools) > 0 && !t.known.traits.NoTools }

func (t *try) hasToolResults() bool {
	return slices.ContainsFunc(t.r.Messages, func(m sessions.Message) bool { return m.Role == sessions.RoleTool })
}

func matches(form string) func(*wire.ServerError) bool {
	words := lazily.Compile(form)
	return func(refusal *wire.ServerError) bool { return words.Regexp().MatchString(refusal.Words) }
}

// unsupported matches the words of a server that does not know or accept a
// field.
var unsupported = lazily.Compile(`not (?:be )?(?:currently )?(?:support|allow|permit|valid|recogni|accept|a valid|available)|n't support|unsupported|unknown|unrecogni|unexpected|invalid|extra (?:inputs|fields)|additional propert|only (?:the default|\d)|must be|deprecated|incompatible`)

// refuses returns a function that reports whether an error is about one of
// these fields of the body.
func refuses(fields ...string) func(*wire.ServerError) bool {
	return func(refusal *wire.ServerError) bool {
		return slices.ContainsFunc(fields, func(field string) bool {
			return refusal.Param == field || strings.Contains(refusal.Words, field) && unsupported.Regexp().MatchString(refusal.Words)
		})
	}
}

var (
	wantsResponses = lazily.Compile(`\bv1/responses\b|\bresponses api\b|only supported in v1/responses`)
	wantsNone      = lazily.Compile(`reasoning[_.]effort\S* (?:to|=|must be|as)\W{0,3}none\b`)
	wantsChat      = lazily.Compile(`\b(?:use|in|only) (?:the )?/?(?:v1/)?chat/completions\b`)
)

// otherAPI handles models that have only one API, and OpenAI's refusal of tools
// on chat completions.
func (t *try) otherAPI(refusal *wire.ServerError) bool {
	k := &t.known.traits
	if wantsResponses.Regexp().MatchString(refusal.Words) && k.API != wire.APIResponses && t.switchTo(wire.APIResponses, refusal) {
		return true
	}
	if k.API == wire.APIResponses && wantsChat.Regexp().MatchString(refusal.Words) && t.switchTo(wire.APIChat, refusal) {
		return true
	}
	if t.hasTools() && k.ToolsNeedEffort == "" && wantsNone.Regexp().MatchString(refusal.Words) {
		return t.learn("tools_need=none", refusal)
	}
	return false
}

// switchTo switches to another API, unless the configuration sets one.
func (t *try) switchTo(api string, refusal *wire.ServerError) bool {
	return t.m.auto && t.m.codecs[api] != nil && t.learn("api="+api, refusal)
}

// noSuchAPI handles a server that has only chat completions, like most.
func (t *try) noSuchAPI(refusal *wire.ServerError) bool {
	switch refusal.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
	default:
		return false
	}
	if t.known.traits.API == wire.APIChat || strings.Contains(refusal.Words, "model") {
		return false
	}
	return t.switchTo(wire.APIChat, refusal)
}

// tokensField handles the two names of the token limit.
func (t *try) tokensField(refusal *wire.ServerError) bool {
	const old, current = "max_tokens", "max_completion_tokens"
	k := &t.known.traits
	if t.r.MaxTokens <= 0 || k.API != wire.APIChat && k.API != "" {
		return false
	}
	if !k.CompletionTokens {
		return strings.Contains(refusal.Words, current) && refuses(old)(refusal) && t.learn("max_tokens="+current, refusal)
	}
	return refuses(current)(refusal) && t.learn("max_tokens="+old, refusal)
}

var (
	aboutEffort = lazily.Compile(`reasoning[_.]?effort|reasoning\.effort|\breasoning\b|\bthinking\b|output_config|\beffort\b`)
	quoted      = lazily.Compile(`["'\x60](none|minimal|low|medium|high|xhigh|max)["'\x60]`)
	choices     = lazily.Compile(`\b(?:supported|valid|allowed|possible|accepted|permitted)\b[^\n]{0,40}(?:values?|are|is|options)|must be one of|expected one of|one of`)
)

// effortRefused handles a reasoning effort that the model does not know. The
// error may name the efforts that it knows.
func (t *try) effortRefused(refusal *wire.ServerError) bool {
	k := &t.known.traits
	needed := t.hasTools() && k.ToolsNeedEffort != ""
	if !needed && k.Effort(t.r.Effort) == "" || !aboutEffort.Regexp().MatchString(refusal.Words) || !unsupported.Regexp().MatchString(refusal.Words) {
		return false
	}
	var known []string
	if at := choices.Regexp().FindStringIndex(refusal.Words); at != nil {
		for _, found := range quoted.Regexp().FindAllStringSubmatch(refusal.Words[at[0]:], -1) {
			if !slices.Contains(known, found[1]) {
				known = append(known, found[1])
			}
		}
	}
	if needed {
		return t.learn("tools_need=", refusal) || t.learn("tools=no", refusal)
	}
	if slices.Contains(known, k.Effort(t.r.Effort)) {
		known = nil // the list has the effort that was sent, so it is about something else
	}
	return t.learn("efforts="+strings.Join(known, " "), refusal)
}

var signatureBad = lazily.Compile(`(?:corrupt|invalid|malformed|not valid|expired|bad)\w*[^\n]{0,40}signature|signature\W[^\n]{0,40}(?:corrupt|invalid|not valid|malformed|expired|does not match|could not be)` +
	`|invalid_encrypted_content|encrypted content[^\n]{0,80}(?:could not|cannot|can't|invalid)|(?:decrypt|verif)\w*[^\n]{0,40}(?:reasoning|encrypted|thinking)|item '?rs_\w+'?[^\n]{0,60}not found|(?:thinking|reasoning|encrypted)[^\n]{0,140}(?:cannot be modified|can't be modified|must remain|must not be (?:changed|modified|altered)|(?:was|were|been) (?:changed|modified|altered)|not match)` +
	`|surrogate`)

// thinkingBlock matches the name of what a Claude attaches to a message, in any error
// about it. Settings of thinking have other names.
var thinkingBlock = lazily.Compile(`\bredacted_thinking\b|\bthinking\b[\W_]{0,3}blocks?\b|\b(?:expected|found|type:?)\W{0,3}thinking\b`)

// aboutForm matches refusals of thinking blocks as such, not of a signature that the
// server no longer knows: the blocks of the next answers would be refused as well.
var aboutForm = lazily.Compile(`cannot be modified|must remain|\bexpected\b|\bonly allowed\b|must contain|not (?:be )?(?:supported|allowed|permitted|accepted)|unsupported|unknown|unexpected|unrecogni|extra inputs`)

// attachedRefused handles data that came with earlier answers and that their server no
// longer accepts. A signature that expired does not speak against those of later answers,
// so only what is older than the refusal is left out from then on. If the server refuses
// newer data too, or its form, none is sent for a day.
func (t *try) attachedRefused(refusal *wire.ServerError) bool {
	if !t.sendsAttached() {
		return false
	}
	form := thinkingBlock.Regexp().MatchString(refusal.Words)
	if !form && !signatureBad.Regexp().MatchString(refusal.Words) {
		return false
	}
	if form && aboutForm.Regexp().MatchString(refusal.Words) || !t.known.attachedAfter.IsZero() {
		return t.learn("attached=no", refusal)
	}
	return t.learn("attached="+time.Now().UTC().Format(time.RFC3339Nano), refusal)
}

// sendsAttached reports whether the newest request has data of earlier answers.
func (t *try) sendsAttached() bool {
	return !t.known.noAttached && slices.ContainsFunc(t.in.Request.Messages, func(m sessions.Message) bool { return m.AttachedBy(t.in.To) != nil })
}

// withoutRefused returns list without the data that the server refuses. It returns list
// itself if it refuses none.
func (k *knowledge) withoutRefused(list []sessions.Message) []sessions.Message {
	if k.attachedAfter.IsZero() {
		return list
	}
	out := slices.Clone(list)
	for i := range out {
		if !out[i].At.After(k.attachedAfter) {
			out[i].Attached = nil
		}
	}
	return out
}

// pictureWords occur in all errors about pictures.
var pictureWords = []string{"image", "picture", "vision", "multimodal", "multi-modal", "mmproj"}

// noVisionPhrases say that a model cannot see pictures: llama.cpp, vLLM,
// SGLang, Ollama, OpenAI, LM Studio, OpenRouter, LiteLLM, and servers whose
// messages hold only text: DeepSeek, Groq, Mistral, FastAPI.
var noVisionPhrases = []string{
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

// pictureLimit matches the words of servers that accept fewer pictures in a
// request.
var pictureLimit = lazily.Compile(`at most (\d{1,4}) image|maximum (?:number )?of (\d{1,4}) image|only supports one image`)

// picturesRefused handles a refusal because of pictures: the model sees none, or fewer
// than the request has, or the server refuses one of them. The request is repeated with
// fewer pictures, so that the person gets an answer; the text names each picture. Only a
// limit for all requests becomes a lesson.
func (t *try) picturesRefused(refusal *wire.ServerError) bool {
	count := len(t.shown)
	if count == 0 {
		return false
	}
	most := -1
	if found := pictureLimit.Regexp().FindStringSubmatch(refusal.Words); found != nil {
		most = 1
		if n, bad := strconv.Atoi(found[1] + found[2]); bad == nil {
			most = n
		}
	} else if refusal.Mentions(noVisionPhrases) {
		most = 0
	}
	switch {
	case most >= 0 && most < count:
		return t.learn("pictures="+strconv.Itoa(most), refusal)
	case most >= 0, refusal.Mentions(pictureWords), refusal.Status == http.StatusRequestEntityTooLarge:
		return t.leaveOutPictures(refusal)
	}
	return false
}

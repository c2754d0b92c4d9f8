package models

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Answer says whether a model has an ability.
type Answer string

// The answers.
const (
	Unknown Answer = ""
	Yes     Answer = "yes"
	No      Answer = "no"
)

func answerOf(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// Listed is a model in a server's list. Unknown fields are zero.
type Listed struct {
	Name string
	Facts
	Prices Prices
	// Shutdown is the day on which the model ends, YYYY-MM-DD, or "".
	Shutdown string
	// NoChat: the model is not made for chatting.
	NoChat bool
	// OwnedBy is the model's owner as the server writes it. Local servers put
	// their own name there.
	OwnedBy string
}

// listEntry has all fields that servers use in their lists: OpenAI, Anthropic,
// OpenRouter, Mistral, Groq, vLLM, llama.cpp and Ollama have some of them each.
type listEntry struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`

	ContextLength    int `json:"context_length"`     // OpenRouter, Together
	ContextWindow    int `json:"context_window"`     // Groq
	MaxModelLen      int `json:"max_model_len"`      // vLLM
	MaxContextLength int `json:"max_context_length"` // Mistral
	MaxInputTokens   int `json:"max_input_tokens"`   // Anthropic
	Meta             struct {
		Window int `json:"n_ctx"` // llama.cpp; n_ctx_train is the model's maximum
	} `json:"meta"`

	Capabilities        json.RawMessage `json:"capabilities"` // an object or a list
	SupportedParameters []string        `json:"supported_parameters"`
	Architecture        struct {
		Input  []string `json:"input_modalities"`
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
	Pricing struct {
		Prompt     string `json:"prompt"` // dollars per token
		Completion string `json:"completion"`
		CacheRead  string `json:"input_cache_read"`
	} `json:"pricing"`

	ShutdownDate   string `json:"shutdown_date"`   // OpenAI
	Deprecation    string `json:"deprecation"`     // Mistral
	ExpirationDate string `json:"expiration_date"` // OpenRouter
}

// List asks the server for its models. [Diagnose] explains an error.
func List(ctx context.Context, s Server) ([]Listed, error) {
	var raw struct {
		Data json.RawMessage `json:"data"` // llama.cpp also has a field "models"
	}
	if err := s.fetch(ctx, listPath, nil, &raw); err != nil {
		return nil, err
	}
	var entries []listEntry
	if raw.Data == nil || json.Unmarshal(raw.Data, &entries) != nil {
		return nil, errNoAPI
	}
	var models []Listed
	for i := range entries {
		if entries[i].ID != "" {
			models = append(models, entries[i].model())
		}
	}
	return models, nil
}

func (e *listEntry) model() Listed {
	m := Listed{Name: strings.TrimPrefix(e.ID, "models/"), OwnedBy: e.OwnedBy, NoChat: notForChat(e.ID)}
	m.Window = max(cmp.Or(e.Meta.Window, e.MaxModelLen, e.ContextLength, e.ContextWindow, e.MaxContextLength, e.MaxInputTokens), 0)
	e.abilities(&m)
	if list := e.SupportedParameters; list != nil {
		m.Tools = answerOf(slices.Contains(list, "tools"))
	}
	if list := e.Architecture.Input; list != nil {
		m.Vision = answerOf(slices.Contains(list, "image"))
	}
	if list := e.Architecture.Output; list != nil && !slices.Contains(list, "text") {
		m.NoChat = true
	}
	m.Prices = Prices{perMillion(e.Pricing.Prompt), perMillion(e.Pricing.Completion), perMillion(e.Pricing.CacheRead)}
	if day := cmp.Or(e.ShutdownDate, e.Deprecation, e.ExpirationDate); len(day) >= len(time.DateOnly) {
		m.Shutdown = day[:len(time.DateOnly)]
	}
	return m
}

// flag is an ability: true or false, or an object with the field "supported".
type flag Answer

// UnmarshalJSON accepts any value.
func (f *flag) UnmarshalJSON(b []byte) error {
	var yes bool
	var more struct {
		Supported *bool `json:"supported"`
	}
	if json.Unmarshal(b, &yes) == nil {
		*f = flag(answerOf(yes))
	} else if json.Unmarshal(b, &more) == nil && more.Supported != nil {
		*f = flag(answerOf(*more.Supported))
	}
	return nil
}

// abilities reads the field capabilities of Mistral and Anthropic.
func (e *listEntry) abilities(m *Listed) {
	var caps struct {
		Calls  flag            `json:"function_calling"`
		Vision flag            `json:"vision"`
		Images flag            `json:"image_input"`
		Chat   flag            `json:"completion_chat"`
		Effort map[string]flag `json:"effort"`
	}
	if json.Unmarshal(e.Capabilities, &caps) != nil {
		return
	}
	m.Tools, m.Vision = Answer(caps.Calls), Answer(cmp.Or(caps.Images, caps.Vision))
	m.NoChat = m.NoChat || Answer(caps.Chat) == No
	for _, level := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		if Answer(caps.Effort[level]) == Yes {
			m.Efforts = append(m.Efforts, level)
		}
	}
}

// perMillion converts the price of a token, as text, to the price of a million.
func perMillion(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 {
		return 0
	}
	return float64(int64(f*1e10+0.5)) / 1e4
}

// notForChatParts are in the names of models that do not chat. Lists of servers
// have all their models, and do not say which are for what.
var notForChatParts = []string{
	"embed", "bge-", "minilm", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe", "image", "realtime",
	"audio", "davinci", "babbage", "sora", "-search", "deep-research", "computer-use", "codex", "imagen", "veo-", "lyria", "aqa",
	"ocr", "voxtral", "turbo-instruct", "-live", "translate",
}

func notForChat(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(notForChatParts, func(part string) bool { return strings.Contains(name, part) })
}

// maxSurveyed bounds how many models Ollama is asked to describe.
const maxSurveyed = 64

// Survey lists the chat models of s in the server's order, with what is known
// of each. Only Ollama is asked about each model.
func Survey(ctx context.Context, s Server) ([]Row, error) {
	list, err := List(ctx, s)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(m Listed) bool { return m.NoChat })
	var rows []Row
	for _, m := range list {
		rows = append(rows, Row{Name: m.Name})
	}
	if providerAt(s.BaseURL) == nil && len(rows) > 0 {
		s.surveyLocal(ctx, rows, list)
	}
	for i := range rows {
		rows[i].addList(list[i:i+1], rows[i].Name)
		rows[i].addTable(s, rows[i].Name)
	}
	return rows, nil
}

// Row is one model of a [Survey].
type Row struct {
	Name string
	Found
}

// surveyLocal asks a local server about its models. The answer about the first
// one shows which program it is.
func (s *Server) surveyLocal(ctx context.Context, rows []Row, list []Listed) {
	first := &rows[0]
	s.askLocal(ctx, &first.Found, list, first.Name)
	if first.Server != ServerOllama {
		for i := range rows[1:] {
			rows[i+1].Server, rows[i+1].JSONSchema = first.Server, first.JSONSchema
		}
		return
	}
	var some errgroup.Group
	some.SetLimit(4)
	for i := range rows[1:min(len(rows), maxSurveyed)] {
		some.Go(func() error {
			s.askOllama(ctx, &rows[i+1].Found, rows[i+1].Name)
			return nil
		})
	}
	_ = some.Wait() // a failure only leaves a model unknown
}

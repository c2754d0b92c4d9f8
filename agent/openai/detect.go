package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	officialURL   = "https://api.openai.com/v1"
	officialModel = "gpt-4.1-mini"
	// loopbackURL is where Ollama listens if nobody has changed it.
	loopbackURL = "http://127.0.0.1:11434"
	// loopbackWindow is what Ollama loads a model with if nobody says more;
	// it cuts longer requests off without a word.
	loopbackWindow = 4096
	// mostShown bounds how many models are asked what they can do.
	mostShown = 16
	// maxListing bounds a list of models.
	maxListing = 4 << 20
)

// Source is where a [Choice] comes from.
type Source string

// The sources.
const (
	SourceEnvironment Source = "environment"
	SourceOllama      Source = "ollama"
	SourceDemo        Source = "demo"
)

// DetectOptions are what [Detect] looks at. Only Getenv is required.
type DetectOptions struct {
	Getenv func(string) string
	// OllamaURL is without /v1; "" is Ollama's usual place on loopback.
	OllamaURL string
	// HTTP makes the requests; nil is a client that is used for Detect alone.
	HTTP *http.Client
	// OllamaTimeout is how long an Ollama may take to say that it is there;
	// 0 is 300 ms. It may take three times as long to say what its models can
	// do, and so may a server from the environment to list its models.
	OllamaTimeout time.Duration
}

// Choice is a model to run with.
type Choice struct {
	Source Source
	// BaseURL, APIKey and Name are for [Options]; empty for SourceDemo.
	BaseURL, APIKey, Name string
	// ContextWindow is in tokens; 0 if unknown.
	ContextWindow int
	// Why says in a sentence or two, for people, what was chosen and why. It
	// holds no secret.
	Why string
}

// Detect picks a model for a run without configuration: the one that
// OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL name, else an Ollama on
// loopback, else the demo. It always chooses; New says what is wrong with a
// choice that cannot work.
func Detect(ctx context.Context, o DetectOptions) Choice {
	o.OllamaURL = strings.TrimRight(cmp.Or(o.OllamaURL, loopbackURL), "/")
	o.OllamaTimeout = cmp.Or(o.OllamaTimeout, 300*time.Millisecond)
	if o.HTTP == nil {
		t := newTransport()
		defer t.CloseIdleConnections()
		o.HTTP = &http.Client{Transport: t}
	}
	key, base := strings.TrimSpace(o.Getenv("OPENAI_API_KEY")), strings.TrimSpace(o.Getenv("OPENAI_BASE_URL"))
	wanted := strings.TrimSpace(o.Getenv("OPENAI_MODEL"))
	if key != "" || base != "" {
		return o.environment(ctx, key, base, wanted)
	}
	return o.ollama(ctx, wanted)
}

func (o *DetectOptions) environment(ctx context.Context, key, base, wanted string) Choice {
	c := Choice{Source: SourceEnvironment, BaseURL: cmp.Or(base, officialURL), APIKey: key, Name: wanted}
	because := "OPENAI_BASE_URL is set"
	if base == "" {
		because = "OPENAI_API_KEY is set"
	}
	switch {
	case wanted != "":
		because += ", and OPENAI_MODEL names the model"
	case base == "":
		c.Name = officialModel
		because += " (OPENAI_MODEL would choose another model)"
	default:
		name, err := o.firstListed(ctx, c.BaseURL, key)
		c.Name = cmp.Or(name, "default")
		if err != nil {
			because += "; it could not be asked for its models just now, so set OPENAI_MODEL if this name is wrong"
		} else {
			because += "; this is the first model it lists (OPENAI_MODEL would choose another)"
		}
	}
	c.Why = fmt.Sprintf("The model is %s at %s, because %s.", c.Name, host(c.BaseURL), because)
	return c
}

// firstListed is the first model of a server that looks made for chatting.
func (o *DetectOptions) firstListed(ctx context.Context, base, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*o.OllamaTimeout)
	defer cancel()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := o.fetch(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", key, nil, &list); err != nil {
		return "", err
	}
	for _, m := range list.Data {
		if m.ID != "" && !forOtherThings(m.ID) {
			return m.ID, nil
		}
	}
	return "", errors.New("no model is listed")
}

type ollamaModel struct {
	Name       string `json:"name"`
	RemoteHost string `json:"remote_host"`
	Details    struct {
		Family string `json:"family"`
	} `json:"details"`
}

func (o *DetectOptions) ollama(ctx context.Context, wanted string) Choice {
	const connect = " Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or start Ollama (https://ollama.com), to connect a real one."
	demo := Choice{Source: SourceDemo}
	var list struct {
		Models []ollamaModel `json:"models"`
	}
	asking, cancel := context.WithTimeout(ctx, o.OllamaTimeout)
	defer cancel()
	if err := o.fetch(asking, http.MethodGet, o.OllamaURL+"/api/tags", "", nil, &list); err != nil {
		demo.Why = "The model is the built-in demo, which follows simple rules: OPENAI_API_KEY and OPENAI_BASE_URL are not set, and no Ollama answers at " + host(o.OllamaURL) + "." + connect
		return demo
	}
	name, tools, window := o.pick(ctx, list.Models, wanted)
	if name == "" {
		demo.Why = "The model is the built-in demo, which follows simple rules: the Ollama at " + host(o.OllamaURL) + " has no chat model yet (\"ollama pull qwen3\" gets one)."
		return demo
	}
	about := "it can call tools"
	if !tools {
		about = "it does not say that it can call tools, so it may only chat"
	}
	return Choice{
		Source: SourceOllama, BaseURL: o.OllamaURL + "/v1", Name: name, ContextWindow: window,
		Why: fmt.Sprintf("The model is %s of the Ollama found at %s; %s. Its window is %d tokens.", name, host(o.OllamaURL), about, window),
	}
}

// pick chooses the wanted model if it is there, else the first that can call
// tools, else the first that can chat. Models that run on this machine come
// before those that Ollama only passes on.
func (o *DetectOptions) pick(ctx context.Context, models []ollamaModel, wanted string) (name string, tools bool, window int) {
	ctx, cancel := context.WithTimeout(ctx, 3*o.OllamaTimeout)
	defer cancel()
	var local, remote []ollamaModel
	for _, m := range models {
		switch {
		case m.Name == "" || forOtherThings(m.Name) || strings.Contains(m.Details.Family, "bert"):
		case wanted != "" && (m.Name == wanted || m.Name == wanted+":latest"):
			shown := o.show(ctx, m.Name)
			return m.Name, shown.tools, shown.window
		case m.RemoteHost != "":
			remote = append(remote, m)
		default:
			local = append(local, m)
		}
	}
	for i, m := range append(local, remote...) {
		if i == mostShown {
			break
		}
		shown := o.show(ctx, m.Name)
		switch {
		case shown.known && !shown.chat:
		case shown.tools:
			return m.Name, true, shown.window
		case name == "":
			name, window = m.Name, shown.window
		}
	}
	return name, false, window
}

// shown is what Ollama says of a model. Old versions say nothing of what it
// can do; then known is false.
type shown struct {
	known, chat, tools, vision bool
	window                     int
}

func (o *DetectOptions) show(ctx context.Context, name string) shown {
	out := shown{window: loopbackWindow}
	body, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return out
	}
	var answer struct {
		Capabilities []string `json:"capabilities"`
		Parameters   string   `json:"parameters"`
	}
	if o.fetch(ctx, http.MethodPost, o.OllamaURL+"/api/show", "", body, &answer) != nil {
		return out
	}
	for _, c := range answer.Capabilities {
		out.known = true
		out.chat = out.chat || c == "completion"
		out.tools = out.tools || c == "tools"
		out.vision = out.vision || c == "vision"
	}
	for line := range strings.Lines(answer.Parameters) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				out.window = n
			}
		}
	}
	return out
}

// fetch makes one request and decodes the JSON of a 200.
func (o *DetectOptions) fetch(ctx context.Context, method, address, key string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := *o.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(into)
}

// forOtherThings says whether a model's name tells that it does not chat.
func forOtherThings(name string) bool {
	return mentions(strings.ToLower(name), []string{
		"embed", "bge-", "minilm", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe", "image", "realtime",
	})
}

// host is a URL as people may see it: without a password.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the given address"
	}
	return u.Host
}

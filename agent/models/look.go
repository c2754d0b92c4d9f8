package models

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Facts are the main properties of a model. Unknown ones are zero.
type Facts struct {
	Window        int // in tokens
	Tools, Vision Answer
	Efforts       []string // from least to most; nil: unknown
}

// merge fills in what f does not know yet. from names the source, for people.
func (f *Found) merge(facts Facts, from string) {
	if f.Window == 0 && facts.Window > 0 {
		f.Window, f.WindowFrom = facts.Window, from
	}
	if f.Tools == Unknown && facts.Tools != Unknown {
		f.Tools, f.ToolsFrom = facts.Tools, from
	}
	f.Vision = cmp.Or(f.Vision, facts.Vision)
	if f.Efforts == nil {
		f.Efforts = facts.Efforts
	}
}

// Found is what is known of a model.
type Found struct {
	// Server is the name of the server program or company for people, or "".
	Server string
	Facts
	// Tentative: Ollama has not loaded the model yet, so its window is not known.
	// Window is the smallest that it may have.
	Tentative bool
	// WindowFrom and ToolsFrom name the sources, in a few words for people.
	WindowFrom, ToolsFrom string
	// JSONSchema: the server obeys response_format with a JSON schema.
	JSONSchema bool
	Prices     Prices
	// Shutdown is the day on which the model ends, YYYY-MM-DD, or "".
	Shutdown string
	// Names are the models that the server lists; nil if it lists none.
	Names []string
	// Missing: the server lists its models, but not this one.
	Missing bool
	// Err says why the server did not list its models; nil if it did.
	Err error
}

// Names of server programs in Found.Server.
const (
	ServerOllama   = "Ollama"
	ServerLlamaCpp = "llama.cpp"
	ServerVLLM     = "vLLM"
)

const ownerLlamaCpp = "llamacpp"

// Look finds out about the model called name: from the server at s, then from
// the table. It never fails: properties that it cannot find out are unknown,
// and Err says whether the server is the reason. Each question to the server
// may take s.Timeout.
func Look(ctx context.Context, s Server, name string) Found {
	var f Found
	list, err := List(ctx, s)
	f.Err = err
	if p := providerAt(s.BaseURL); p != nil {
		f.Server = p.title
	} else if err == nil || !unreachable(err) {
		s.askLocal(ctx, &f, list, name)
	}
	f.addList(list, name)
	f.addTable(s, name)
	return f
}

// Assume returns what the table and the name say about a model, without asking
// the server.
func Assume(s Server, name string) (f Found) {
	f.addTable(s, name)
	return f
}

// IsLocal reports whether base is on this machine, so that a question takes
// almost no time.
func IsLocal(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

func (f *Found) addList(list []Listed, name string) {
	i := slices.IndexFunc(list, func(m Listed) bool { return sameModel(m.Name, name) })
	for _, m := range list {
		f.Names = append(f.Names, m.Name)
	}
	if i < 0 {
		// Ollama may know the model by another name, and llama.cpp answers with its
		// only model to any name.
		f.Missing = len(list) > 0 && f.Server != ServerOllama && f.Server != ServerLlamaCpp && list[0].OwnedBy != ownerLlamaCpp
		return
	}
	f.merge(list[i].Facts, "its server's list of models")
	f.Prices, f.Shutdown = list[i].Prices, list[i].Shutdown
}

// sameModel compares a listed name with a requested one. Gemini lists
// models/NAME, Ollama NAME:latest.
func sameModel(listed, name string) bool {
	listed, name = strings.TrimPrefix(listed, "models/"), strings.TrimPrefix(name, "models/")
	return listed == name || listed == name+":latest"
}

// askLocal asks a local server through the interfaces that Ollama and llama.cpp
// have in addition to OpenAI's.
func (s *Server) askLocal(ctx context.Context, f *Found, list []Listed, name string) {
	by := ""
	if i := slices.IndexFunc(list, func(m Listed) bool { return sameModel(m.Name, name) }); i >= 0 {
		by = list[i].OwnedBy
	} else if len(list) > 0 {
		by = list[0].OwnedBy
	}
	switch by {
	case "vllm":
		f.Server, f.JSONSchema = ServerVLLM, true
	case ownerLlamaCpp:
		s.askLlamaCpp(ctx, f)
	default:
		if !s.askOllama(ctx, f, name) {
			s.askLlamaCpp(ctx, f)
		}
	}
}

func (s *Server) askLlamaCpp(ctx context.Context, f *Found) {
	var props struct {
		Settings *struct {
			Window int `json:"n_ctx"` // of one slot, which serves one request
		} `json:"default_generation_settings"`
		Modalities map[string]bool `json:"modalities"`
		Template   map[string]bool `json:"chat_template_caps"`
	}
	if s.fetch(ctx, "/props", nil, &props) != nil || props.Settings == nil {
		return
	}
	f.Server, f.JSONSchema = ServerLlamaCpp, true
	facts := Facts{Window: props.Settings.Window}
	if sees, known := props.Modalities["vision"]; known {
		facts.Vision = answerOf(sees)
	}
	offers, known := props.Template["supports_tools"]
	switch {
	case offers:
		facts.Tools = Yes
	case known && !props.Template["supports_tool_calls"]:
		// The server accepts tools nevertheless, but the model never sees them.
		facts.Tools = No
	}
	f.merge(facts, "its server's /props")
}

// addTable adds what the table and the name say, where the server says nothing.
func (f *Found) addTable(s Server, name string) {
	k := Lookup(s.BaseURL, name, s.API)
	facts := Facts{Vision: k.Vision, Efforts: k.Traits.Efforts}
	if k.Listed && f.trusts(s.BaseURL, name) {
		facts.Window, facts.Tools = k.Window, k.Tools
		if f.Prices == (Prices{}) {
			f.Prices = k.Prices
		}
	}
	plain := baseName(name)
	looksLikeVision := slices.ContainsFunc(visionNames, func(s string) bool { return strings.Contains(plain, s) })
	facts.Vision = cmp.Or(facts.Vision, answerOf(looksLikeVision))
	f.merge(facts, "the table of "+TableDate)
	f.Shutdown = cmp.Or(f.Shutdown, k.Shutdown)
	f.JSONSchema = f.JSONSchema || k.Traits.JSONSchema
}

// trusts reports whether the table's numbers are valid at this server. For open
// weights they are valid only at their maker.
func (f *Found) trusts(base, name string) bool {
	p, r := providerAt(base), rowOf(name)
	if p != nil {
		return p.id == openRouter || servesAsMaker(p, r)
	}
	switch r.maker {
	case openAI, anthropic, google, xAI:
		return f.Server == ""
	}
	return false
}

// visionNames are parts of the names of vision models. A name without any of
// them counts as blind, because a blind model may refuse every request with a
// picture.
var visionNames = []string{
	"llava", "vision", "-vl", "vl-", "gemma3", "gemma-3", "gemma4", "gemma-4", "llama4", "llama-4", "qwen2.5vl", "qwen3vl",
	"minicpm-v", "moondream", "internvl", "mistral-small3", "gpt-4.5", "qwen3.5",
}

// Nearest returns at most n of names, the most similar to name first.
func Nearest(name string, names []string, n int) []string {
	want, far := strings.ToLower(name), make(map[string]int)
	near := slices.DeleteFunc(slices.Clone(names), notForChat)
	for _, other := range near {
		lower := strings.ToLower(other)
		far[other] = distance(want, lower)
		if plain := baseName(other); plain != lower {
			far[other] = min(far[other], distance(baseName(name), plain)+1)
		}
		if strings.HasPrefix(lower, want) || strings.HasPrefix(want, lower) {
			far[other] = min(far[other], 2)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return far[a] - far[b] })
	return near[:min(n, len(near))]
}

// distance is the Levenshtein distance between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}

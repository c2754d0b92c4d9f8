package models

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Facts are what matters most of one model. What is unknown is zero.
type Facts struct {
	Window        int // in tokens
	Tools, Vision Answer
	Efforts       []string // from least to most; nil: unknown
}

// merge takes over what is new in facts, which come from there.
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

// Found is what is known of one model.
type Found struct {
	// Server is the program or the company that answers, for people, or "".
	Server string
	Facts
	// Tentative: Ollama has not loaded the model yet and says nothing of the
	// window; Window is the smallest that it may have then.
	Tentative bool
	// Who said so, in a few words for people.
	WindowFrom, ToolsFrom string
	// JSONSchema: the server obeys response_format with a JSON schema.
	JSONSchema bool
	Prices     Prices
	// Shutdown is the day on which the model ends, YYYY-MM-DD, or "".
	Shutdown string
	// Names are the models that the server lists; nil: it listed none.
	Names []string
	// Missing: the server lists its models, and this one is not among them.
	Missing bool
	// Err is why the server could not be asked; nil: it answered.
	Err error
}

// Programs that serve models, as Found.Server has them.
const (
	ServerOllama   = "Ollama"
	ServerLlamaCpp = "llama.cpp"
	ServerVLLM     = "vLLM"
)

// ownerLlamaCpp is what llama.cpp lists as the owner of its model.
const ownerLlamaCpp = "llamacpp"

const (
	fromList  = "its server's list of models"
	fromTable = "the table of " + TableDate
)

// Look finds out about the model called name at s, from the server first, then
// from the table. It takes at most twice s.Patience and never fails: what
// could not be found out is unknown, and Err says if the server is why.
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

// Assume is what the table and the name tell of a model before its server was
// asked.
func Assume(s Server, name string) (f Found) {
	f.addTable(s, name)
	return f
}

// IsLocal reports whether base is on this machine, where an answer takes no time.
func IsLocal(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// addList is what the list of models says.
func (f *Found) addList(list []Listed, name string) {
	i := slices.IndexFunc(list, func(m Listed) bool { return sameModel(m.Name, name) })
	for _, m := range list {
		f.Names = append(f.Names, m.Name)
	}
	if i < 0 {
		// An Ollama that knows the model has other names for it; llama.cpp has one
		// model, whatever the request calls it.
		f.Missing = len(list) > 0 && f.Server != ServerOllama && f.Server != ServerLlamaCpp && list[0].OwnedBy != ownerLlamaCpp
		return
	}
	f.merge(list[i].Facts, fromList)
	f.Prices, f.Shutdown = list[i].Prices, list[i].Shutdown
}

// sameModel compares a listed name with one that was asked for. Gemini lists
// models/NAME, Ollama NAME:latest.
func sameModel(listed, name string) bool {
	listed, name = strings.TrimPrefix(listed, "models/"), strings.TrimPrefix(name, "models/")
	return listed == name || listed == name+":latest"
}

// askLocal asks the interfaces that programs for one's own models have beside
// OpenAI's.
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

// askLlamaCpp asks a llama-server about itself.
func (s *Server) askLlamaCpp(ctx context.Context, f *Found) {
	var props struct {
		Settings *struct {
			Window int `json:"n_ctx"` // of one slot, which is what a request gets
		} `json:"default_generation_settings"`
		Modalities map[string]bool `json:"modalities"`
		Template   map[string]bool `json:"chat_template_caps"`
	}
	if s.fetch(ctx, "/props", nil, &props) != nil || props.Settings == nil {
		return
	}
	f.Server, f.JSONSchema = ServerLlamaCpp, true
	facts := Facts{Window: props.Settings.Window}
	if sees, said := props.Modalities["vision"]; said {
		facts.Vision = answerOf(sees)
	}
	offers, said := props.Template["supports_tools"]
	switch {
	case offers:
		facts.Tools = Yes
	case said && !props.Template["supports_tool_calls"]:
		// The server takes tools all the same, and the model never reads of them.
		facts.Tools = No
	}
	f.merge(facts, "its server's /props")
}

// addTable adds what the table and the name tell, where the server is silent.
func (f *Found) addTable(s Server, name string) {
	k := Lookup(s.BaseURL, name, s.API)
	facts := Facts{Vision: k.Vision, Efforts: k.Traits.Efforts}
	if k.Listed && f.trusts(s.BaseURL, name) {
		facts.Window, facts.Tools = k.Window, k.Tools
		if f.Prices == (Prices{}) {
			f.Prices = k.Prices
		}
	}
	facts.Vision = cmp.Or(facts.Vision, answerOf(looksLikeVision(name)))
	f.merge(facts, fromTable)
	f.Shutdown = cmp.Or(f.Shutdown, k.Shutdown)
	f.JSONSchema = f.JSONSchema || k.Traits.JSONSchema
}

// trusts says whether the table's numbers hold at this server: those of models
// whose weights anybody can run hold only where their maker runs them.
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

// visionNames are parts of the names of models that are known to see. A name that
// is not among them may be a model that refuses every request with a picture
// in it, so that the answer is no.
var visionNames = []string{
	"llava", "vision", "-vl", "vl-", "gemma3", "gemma-3", "gemma4", "gemma-4", "llama4", "llama-4", "qwen2.5vl", "qwen3vl",
	"minicpm-v", "moondream", "internvl", "mistral-small3", "gpt-4.5", "qwen3.5",
}

// looksLikeVision guesses by a model's name whether it can be shown pictures.
func looksLikeVision(name string) bool {
	name = baseName(name)
	return slices.ContainsFunc(visionNames, func(s string) bool { return strings.Contains(name, s) })
}

// Nearest are at most n of the names that are most like name, the nearest
// first.
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

// distance is how many letters have to be put in, taken out or changed to make
// b of a.
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

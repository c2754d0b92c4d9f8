package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Source is where a [Choice] comes from.
type Source string

// The sources.
const (
	SourceConfiguration Source = "configuration"
	SourceEnvironment   Source = "environment"
	SourceOllama        Source = "ollama"
	SourceDemo          Source = "demo"
)

// ChooseOptions are what [Choose] looks at. Only Getenv is required.
type ChooseOptions struct {
	Getenv func(string) string
	// Key and Name are model.api_key and model.name of the configuration, API is
	// model.api.
	Key, Name, API string
	// Headers go out with each request.
	Headers map[string]string
	// HTTP makes the requests; nil is a client that is used for Choose alone.
	HTTP *http.Client
	// OllamaTimeout is how long an Ollama may take to say that it is there; 0
	// is 300 ms. It may take three times as long to say what its models can do.
	OllamaTimeout time.Duration
	// Timeout is how long another server may take to list its models; 0 is 1 s
	// where the table knows one of its models, and 3 s elsewhere.
	Timeout time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// bases replace the providers' own addresses in tests, by their ids.
	bases map[string]string
}

// Choice is a model to run with.
type Choice struct {
	Source Source
	// BaseURL, Key and Name are empty for SourceDemo.
	BaseURL, Key, Name string
	// Why says in a sentence or two, for people, what was chosen and why. It
	// holds no secret.
	Why string
}

// Choose picks a model where the configuration names no server. A key or a
// name in the configuration is honoured, or an error says what there is
// instead. Without both it takes OPENAI_BASE_URL or OPENAI_API_KEY, then the
// key of another provider that the table knows, then an Ollama, then the demo;
// that always succeeds, and the first call says what is wrong with a choice
// that cannot work. It asks servers only where the choice hangs on it.
func Choose(ctx context.Context, o ChooseOptions) (Choice, error) {
	o.OllamaTimeout = cmp.Or(o.OllamaTimeout, 300*time.Millisecond)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Key, o.Name = strings.TrimSpace(o.Key), strings.TrimSpace(o.Name)
	base, key := o.env("OPENAI_BASE_URL"), o.env("OPENAI_API_KEY")
	switch {
	case o.Key != "":
		return o.configuredKey(ctx, base), nil
	case o.Name != "" && base == "":
		return o.configuredName(ctx)
	case o.Name != "":
		return o.choice(SourceEnvironment, base, key, o.Name, "OPENAI_BASE_URL is set, and model.name names the model"), nil
	case base != "":
		return o.listed(ctx, SourceEnvironment, base, key, o.env("OPENAI_MODEL"), "OPENAI_BASE_URL is set"), nil
	}
	for i := range providers {
		if p := &providers[i]; p.base != "" && o.env(p.env) != "" {
			wanted := ""
			if p.id == openAI {
				wanted = o.env("OPENAI_MODEL")
			}
			return o.listed(ctx, SourceEnvironment, o.base(p), o.env(p.env), wanted, p.env+" is set"), nil
		}
	}
	return o.ollama(ctx, o.env("OPENAI_MODEL")), nil
}

func (o *ChooseOptions) env(name string) string { return strings.TrimSpace(o.Getenv(name)) }

func (o *ChooseOptions) base(p *provider) string { return cmp.Or(o.bases[p.id], p.base) }

// server is the one at base, asked with this patience.
func (o *ChooseOptions) server(base, key string) Server {
	return Server{BaseURL: base, Key: key, Headers: o.Headers, API: o.API, HTTP: o.HTTP, Timeout: o.Timeout}
}

func (o *ChooseOptions) choice(from Source, base, key, name, because string) Choice {
	return Choice{Source: from, BaseURL: base, Key: key, Name: name, Why: fmt.Sprintf("The model is %s at %s, because %s.", name, Host(base), because)}
}

// providerOfKey is the provider whose keys look like key, or nil.
func providerOfKey(key string) *provider {
	for _, k := range []struct{ prefix, id string }{
		{"sk-ant-", anthropic}, {"sk-or-", openRouter}, {"sk-proj-", openAI}, {"sk-svcacct-", openAI}, {"xai-", xAI}, {"AIza", google},
	} {
		if strings.HasPrefix(key, k.prefix) {
			return providerByID(k.id)
		}
	}
	return nil
}

// makerOf is the provider that serves the models of that name itself, or nil.
func makerOf(name string) *provider {
	if r := rowOf(name); r != nil && !strings.ContainsAny(name, ":") {
		return providerByID(r.maker)
	}
	return nil
}

// configuredKey honours model.api_key without model.base_url.
func (o *ChooseOptions) configuredKey(ctx context.Context, base string) Choice {
	because := "model.api_key is set"
	if base != "" {
		because += ", and OPENAI_BASE_URL says where"
	} else {
		p := providerOfKey(o.Key)
		if p == nil && o.Name != "" {
			p = makerOf(o.Name)
			if strings.Contains(o.Name, "/") {
				p = providerByID(openRouter)
			}
		}
		if p == nil {
			p = providerByID(openAI)
			because += " and looks like no other provider's"
		}
		base = o.base(p)
	}
	return o.listed(ctx, SourceConfiguration, base, o.Key, o.Name, because)
}

// listed is a choice at base: the wanted model, else one that it lists.
func (o *ChooseOptions) listed(ctx context.Context, from Source, base, key, wanted, because string) Choice {
	if wanted != "" {
		named := "OPENAI_MODEL"
		if wanted == o.Name {
			named = "model.name"
		}
		return o.choice(from, base, key, wanted, because+", and "+named+" names the model")
	}
	s, guess := o.server(base, key), defaultModel(base)
	if s.Timeout == 0 {
		s.Timeout = 3 * time.Second
		if guess != "" {
			s.Timeout = time.Second // everything else waits for it, and the guess is good
		}
	}
	list, err := List(ctx, s)
	name, why := pick(list, o.Now())
	if err == nil && name != "" {
		return o.choice(from, base, key, name, because+"; "+why+" (model.name would choose another)")
	}
	why = "it lists no chat model"
	if err != nil {
		why = "it could not be asked for its models just now"
	}
	return o.choice(from, base, key, cmp.Or(guess, "default"), because+"; "+why+", so set model.name if this name is wrong")
}

// defaultModel is the model that is chosen at base when nobody can be asked.
func defaultModel(base string) string {
	p := providerAt(base)
	best, rank := "", 0
	for i := range table {
		r := &table[i]
		if p == nil || r.maker != p.id || r.rank <= rank {
			continue
		}
		for name := range strings.FieldsSeq(r.names) {
			if name = strings.TrimSuffix(name, "*"); !strings.Contains(name, "*") {
				best, rank = name, r.rank
				break
			}
		}
	}
	return best
}

// pick chooses from a server's list: the highest rank of the table, else the
// first that chats, never one that ends soon if there is another. why says it.
func pick(list []Listed, now time.Time) (name, why string) {
	best, rank, ending := "", -1, ""
	skipped := 0
	for _, m := range list {
		r := rowOf(m.Name)
		day := m.Shutdown
		if day == "" && r != nil {
			day = r.shutdown
		}
		switch {
		case m.NoChat:
		case EndsSoon(day, now):
			skipped++
			if day > ending || ending == "" {
				ending, name = day, m.Name
			}
		case score(m.Name, r) > rank:
			best, rank = m.Name, score(m.Name, r)
		}
	}
	switch {
	case best == "" && name == "":
		return "", ""
	case best == "":
		return name, "it lists only models that will be shut down soon, this one on " + ending
	case rank >= scoreOfRank:
		why = "of the models that it lists, this is the small current one"
	default:
		why = "it is the first model that it lists"
	}
	if skipped > 0 {
		why += fmt.Sprintf(" (%d more will be shut down soon)", skipped)
	}
	return best, why
}

// scoreOfRank is what one rank of the table counts in a score; below it, names
// of one rank compete.
const scoreOfRank = 100

// score is how much speaks for a model. Of several names of one model the
// shortest wins, which moves on with the model; a preview loses.
func score(name string, r *row) int {
	if r == nil {
		return 0
	}
	s := r.rank*scoreOfRank + max(0, 60-len(name))
	if strings.Contains(name, "preview") || strings.Contains(name, ":") {
		s -= 60
	}
	return s
}

// offer is a server that may have a model that the configuration names.
type offer struct {
	title, base, key string
	list             []Listed
	err              error
}

// configuredName honours model.name without model.base_url and model.api_key.
func (o *ChooseOptions) configuredName(ctx context.Context) (Choice, error) {
	if p := makerOf(o.Name); p != nil && !strings.Contains(o.Name, "/") && o.env(p.env) != "" {
		return o.choice(SourceConfiguration, o.base(p), o.env(p.env), o.Name, p.env+" is set, and model.name is one of "+p.title), nil
	}
	offers := o.offers(ctx)
	for _, of := range offers {
		for _, m := range of.list {
			if sameModel(m.Name, o.Name) {
				return o.choice(SourceConfiguration, of.base, of.key, m.Name, "model.name names it, and "+of.title+" has it"), nil
			}
		}
	}
	return Choice{}, o.notFound(offers)
}

// offers asks everybody who may have the model, side by side: those with a key
// in the environment, and an Ollama, which is the last.
func (o *ChooseOptions) offers(ctx context.Context) []offer {
	var all []offer
	for i := range providers {
		if p := &providers[i]; p.base != "" && o.env(p.env) != "" {
			all = append(all, offer{title: p.title, base: o.base(p), key: o.env(p.env)})
		}
	}
	all = append(all, offer{title: ServerOllama, base: OllamaURL(o.env("OLLAMA_HOST")) + "/v1"})
	var wg sync.WaitGroup
	for i := range all {
		of := &all[i]
		wg.Go(func() { of.list, of.err = List(ctx, o.server(of.base, of.key)) })
	}
	wg.Wait()
	return all
}

// notFound says that nobody has the model that the configuration names.
func (o *ChooseOptions) notFound(offers []offer) error {
	text := fmt.Sprintf("model.name is %s, model.base_url is not set, and ", o.Name)
	if p := makerOf(o.Name); p != nil && p.env != "" {
		return fmt.Errorf("%s%s, whose model it is, needs a key: set model.api_key, for example to \"${%s}\"", text, p.title, p.env)
	}
	var said []string
	for _, of := range offers {
		var names []string
		for _, m := range of.list {
			names = append(names, m.Name)
		}
		switch {
		case of.err != nil && of.title == ServerOllama && unreachable(of.err):
			said = append(said, "no Ollama answers at "+Host(of.base))
		case of.err != nil:
			said = append(said, of.title+" could not be asked")
		case len(names) == 0:
			said = append(said, of.title+" has no models yet")
		default:
			said = append(said, of.title+" has "+strings.Join(Nearest(o.Name, names, 8), ", "))
		}
	}
	return errors.New(text + "no server here has that model: " + strings.Join(said, "; ") + ". Set model.base_url to the server that has it, model.api_key to a key, or model.name to a model that exists")
}

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

// ChooseOptions are the inputs of [Choose]. Only Getenv is required.
type ChooseOptions struct {
	Getenv func(string) string
	// Key, Name and API are model.api_key, model.name and model.api of the
	// configuration.
	Key, Name, API string
	// Headers are set on each request.
	Headers map[string]string
	// HTTP makes the requests; if nil, Choose uses a client of its own.
	HTTP *http.Client
	// OllamaTimeout bounds the wait for an Ollama to list its models; 0 is 300
	// ms. It has three times as long to describe them.
	OllamaTimeout time.Duration
	// Timeout bounds the wait for another server to list its models. 0 is 1 s if
	// the table knows one of its models, else 3 s.
	Timeout time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// bases replace the providers' base URLs in tests, by provider id.
	bases map[string]string
}

// Choice is a chosen model.
type Choice struct {
	// Demo: it is the built-in one; BaseURL, Key and Name are empty.
	Demo               bool
	BaseURL, Key, Name string
	// Why says in a sentence or two what was chosen and why. It holds no secret.
	Why string
}

// Choose picks a model if the configuration names no server.
//
// A key or a name in the configuration counts first: if no server has that
// model, Choose returns an error that lists the models it found. Otherwise it
// takes OPENAI_BASE_URL or OPENAI_API_KEY, then the key of another known
// provider, then an Ollama, then the demo. That always succeeds: if the choice
// cannot work, the first call will say why. Choose asks servers only if the
// choice depends on it.
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
		return o.choice(base, key, o.Name, "OPENAI_BASE_URL is set, and model.name names the model"), nil
	case base != "":
		return o.listed(ctx, base, key, o.env("OPENAI_MODEL"), "OPENAI_BASE_URL is set"), nil
	}
	for i := range providers {
		if p := &providers[i]; p.base != "" && o.env(p.env) != "" {
			wanted := ""
			if p.id == openAI {
				wanted = o.env("OPENAI_MODEL")
			}
			return o.listed(ctx, o.base(p), o.env(p.env), wanted, p.env+" is set"), nil
		}
	}
	return o.ollama(ctx, o.env("OPENAI_MODEL")), nil
}

// env is a variable without what editors leave around a value.
func (o *ChooseOptions) env(name string) string {
	return strings.Trim(o.Getenv(name), " \t\r\n\ufeff")
}

func (o *ChooseOptions) base(p *provider) string { return cmp.Or(o.bases[p.id], p.base) }

func (o *ChooseOptions) server(base, key string) Server {
	return Server{BaseURL: base, Key: key, Headers: o.Headers, API: o.API, HTTP: o.HTTP, Timeout: o.Timeout}
}

func (o *ChooseOptions) choice(base, key, name, because string) Choice {
	return Choice{BaseURL: base, Key: key, Name: name, Why: fmt.Sprintf("The model is %s at %s, because %s.", name, Host(base), because)}
}

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

// makerOf returns the provider that made the model and serves it, or nil.
func makerOf(name string) *provider {
	if r := rowOf(name); r != nil && !strings.ContainsAny(name, ":") {
		return providerByID(r.maker)
	}
	return nil
}

// configuredKey chooses for model.api_key without model.base_url.
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
	return o.listed(ctx, base, o.Key, o.Name, because)
}

// listed chooses a model at base: the wanted one, or else one from its list.
func (o *ChooseOptions) listed(ctx context.Context, base, key, wanted, because string) Choice {
	if wanted != "" {
		named := "OPENAI_MODEL"
		if wanted == o.Name {
			named = "model.name"
		}
		return o.choice(base, key, wanted, because+", and "+named+" names the model")
	}
	s, guess := o.server(base, key), defaultModel(base)
	if s.Timeout == 0 {
		s.Timeout = 3 * time.Second
		if guess != "" {
			s.Timeout = time.Second // the start waits for the answer, and the guess is good
		}
	}
	list, err := List(ctx, s)
	name, why := pick(list, o.Now())
	if err == nil && name != "" {
		return o.choice(base, key, name, because+"; "+why+" (model.name would choose another)")
	}
	why = "it lists no chat model"
	if err != nil {
		why = "it did not list its models just now"
	}
	return o.choice(base, key, cmp.Or(guess, "default"), because+"; "+why+", so set model.name if this name is wrong")
}

// defaultModel returns the model to choose if the server at base lists none, or "".
func defaultModel(base string) string {
	p := providerAt(base)
	best, rank := "", 0
	for i := range table {
		r := &table[i]
		if p == nil || r.maker != p.id || r.rank <= rank {
			continue
		}
		for name := range strings.FieldsSeq(r.names) {
			name = strings.TrimSuffix(name, "*")
			if !strings.Contains(name, "*") {
				best, rank = name, r.rank
				break
			}
		}
	}
	return best
}

// pick chooses from a server's list: the model with the highest rank in the
// table, or else the first chat model. It takes a model that ends soon only if
// there is no other. why is the reason, for people.
func pick(list []Listed, now time.Time) (name, why string) {
	best := ""
	rank := -1
	lastDay := ""
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
			if day > lastDay || lastDay == "" {
				lastDay, name = day, m.Name
			}
		case score(m.Name, r) > rank:
			best, rank = m.Name, score(m.Name, r)
		}
	}
	switch {
	case best == "" && name == "":
		return "", ""
	case best == "":
		return name, "it lists only models that will be shut down soon, this one on " + lastDay
	case rank >= scoreOfRank:
		why = "this is the small current model of its list"
	default:
		why = "it is the first model of its list"
	}
	if skipped > 0 {
		why += fmt.Sprintf(" (%d more will be shut down soon)", skipped)
	}
	return best, why
}

// scoreOfRank is the score of one rank. Less decides between names of one rank.
const scoreOfRank = 100

// score rates a model for pick. Of several names of a model, the shortest wins,
// because the maker moves it to newer versions; a preview loses.
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

// offer is a server that may have the model in model.name.
type offer struct {
	title, base, key string
	list             []Listed
	err              error
}

func (o *ChooseOptions) configuredName(ctx context.Context) (Choice, error) {
	if p := makerOf(o.Name); p != nil && !strings.Contains(o.Name, "/") && o.env(p.env) != "" {
		return o.choice(o.base(p), o.env(p.env), o.Name, p.env+" is set, and model.name is one of "+p.title), nil
	}
	offers := o.offers(ctx)
	for _, offer := range offers {
		for _, m := range offer.list {
			if sameModel(m.Name, o.Name) {
				return o.choice(offer.base, offer.key, m.Name, "model.name names it, and "+offer.title+" has it"), nil
			}
		}
	}
	return Choice{}, o.notFound(offers)
}

// offers asks, concurrently, all servers that may have the model: the providers
// whose keys are in the environment, and last an Ollama.
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

func (o *ChooseOptions) notFound(offers []offer) error {
	text := fmt.Sprintf("model.name is %s, model.base_url is not set, and ", o.Name)
	if p := makerOf(o.Name); p != nil && p.env != "" {
		return fmt.Errorf("%s%s, whose model it is, needs a key: set model.api_key, for example to \"${%s}\"", text, p.title, p.env)
	}
	var found []string
	for _, of := range offers {
		var names []string
		for _, m := range of.list {
			names = append(names, m.Name)
		}
		switch {
		case of.err != nil && of.title == ServerOllama && unreachable(of.err):
			found = append(found, "no Ollama answers at "+Host(of.base))
		case of.err != nil:
			found = append(found, of.title+" did not list its models")
		case len(names) == 0:
			found = append(found, of.title+" has no models yet")
		default:
			found = append(found, of.title+" has "+strings.Join(Nearest(o.Name, names, 8), ", "))
		}
	}
	return errors.New(text + "no server here has that model: " + strings.Join(found, "; ") + ". Set model.base_url to the server that has it, model.api_key to a key, or model.name to a model that exists")
}

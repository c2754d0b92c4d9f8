package openai

import (
	"net/http"
	"slices"
	"strings"

	"dragoman/internal/respond"
)

// Model is the name under which the configured model answers, whatever it is. A persona
// answers under it, a slash and its own name.
const Model = "dragoman"

// agentOf is the persona that answers under a name; "" is none.
func agentOf(model string) string {
	name, is := strings.CutPrefix(model, Model+"/")
	if !is {
		return ""
	}
	return name
}

// model is an entry of the list of models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // Unix seconds: since when this process offers it
	OwnedBy string `json:"owned_by"`
}

func (s *server) model(name string) model {
	return model{ID: name, Object: "model", Created: s.started.Unix(), OwnedBy: "dragoman"}
}

// names are the models that requests may name, each once.
func (s *server) names() []string {
	list := []string{Model}
	for _, name := range s.Models() {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if s.Agents == nil {
		return list
	}
	for _, name := range s.Agents() {
		list = append(list, Model+"/"+name)
	}
	return list
}

func (s *server) listModels(w http.ResponseWriter, _ *http.Request) error {
	list := []model{}
	for _, name := range s.names() {
		list = append(list, s.model(name))
	}
	respond.JSON(w, http.StatusOK, struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", list})
	return nil
}

func (s *server) showModel(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("model")
	if no := s.checkModel(name); no != nil {
		return no
	}
	respond.JSON(w, http.StatusOK, s.model(name))
	return nil
}

// checkModel refuses a model that is not offered.
func (s *server) checkModel(name string) *respond.Refusal {
	if slices.Contains(s.names(), name) {
		return nil
	}
	return &respond.Refusal{
		Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Sentence: "There is no model of this name here. GET /v1/models lists those that there are; " + Model + " is the configured one.",
	}
}

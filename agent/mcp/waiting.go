package mcp

import (
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dragoman/agent"
)

// maxState bounds what is journaled of a call that waits, with what its server wants back.
const maxState = 64 << 10

// waiting is where a call was when it asked. It is journaled.
type waiting struct {
	// Live is the call of the former era, by its number in the process of that name.
	Live string `json:"live,omitempty"`
	// State and Questions are the server's, of the present era; Answers those there are, and
	// Now is which question is put.
	State     string                       `json:"state,omitempty"`
	Questions map[string]*sdk.ElicitParams `json:"questions,omitempty"`
	Answers   map[string]*sdk.ElicitResult `json:"answers,omitempty"`
	Now       string                       `json:"now,omitempty"`
	Asked     int                          `json:"asked,omitempty"`
	Rounds    int                          `json:"rounds,omitempty"`
	Why       string                       `json:"why,omitempty"` // a question was declined for the person
}

// asking is the error that puts a form to the person.
func (w waiting) asking(f agent.Form) error {
	text, err := json.Marshal(w)
	if err != nil || len(text) > maxState {
		return errors.New("the server asked the person something, and wants too much kept for it")
	}
	return &agent.Asking{Form: f, State: string(text)}
}

func resultFor(a *agent.Answer) *sdk.ElicitResult {
	r := &sdk.ElicitResult{Action: string(a.Action)}
	if a.Action == agent.Accepted {
		r.Content = a.Values
		if r.Content == nil {
			r.Content = map[string]any{}
		}
	}
	return r
}

package app

import (
	"errors"
	"net/http"
	"strings"

	"dragoman/heartbeat"
	"dragoman/internal/api"
	"dragoman/internal/respond"
)

// orderOf is what somebody asks for by the API.
func orderOf(text, prompt string, w api.When) heartbeat.Order {
	o := heartbeat.Order{Text: text, Prompt: prompt, Zone: w.Zone, When: heartbeat.When{At: w.At, In: w.In, Every: w.Every}}
	if r := w.Repeat; r != nil {
		o.When.Repeat = &heartbeat.Rule{Freq: r.Freq, Interval: r.Interval, Days: r.Days, Times: r.Times, Until: r.Until, Count: r.Count}
	}
	return o
}

// refusalOfReminder is err for a caller of the API.
func refusalOfReminder(err error) error {
	refusal, refused := errors.AsType[heartbeat.Refusal](err)
	if !refused {
		return err
	}
	said := refusal.Error()
	return &respond.Refusal{Status: http.StatusUnprocessableEntity, Sentence: strings.ToUpper(said[:1]) + said[1:] + "."}
}

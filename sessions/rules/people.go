package rules

import (
	"errors"
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// CheckPairing refuses requests that could never be approved.
func CheckPairing(p sessions.Pairing, now time.Time) error {
	switch {
	case p.Channel == "" || p.PersonID == "":
		return errors.New("a pairing needs a channel and a person's id")
	case Code(p.Code) == "":
		return errors.New("a pairing request needs a code")
	case !now.Before(p.Expires):
		return errors.New("the pairing request is expired already")
	}
	return nil
}

// Pairing cleans a request for storage.
func Pairing(p sessions.Pairing) sessions.Pairing {
	p.PersonID, p.Name, p.Code = Text(p.PersonID), Text(p.Name), Text(p.Code)
	p.Expires, p.Approved = Time(p.Expires), time.Time{}
	return p
}

// Recall picks from the facts of a scope, oldest first as stored: the best by
// words, or the newest without a query.
func Recall(query string, facts []sessions.Fact, limit int) []sessions.Fact {
	if strings.TrimSpace(query) != "" {
		return Best(Query(query), facts, func(f sessions.Fact) string { return f.Text }, limit)
	}
	newest := slices.Clone(facts)
	slices.Reverse(newest)
	return newest[:min(max(limit, 0), len(newest))]
}

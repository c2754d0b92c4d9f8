package llm

import (
	"time"

	"dragoman/internal/httpapi"
)

// TroublesAfter is what status tells of other models a while after each call
// of model has ended like this.
func TroublesAfter(while time.Duration, model string, ends ...error) []httpapi.OtherTrouble {
	m := &Models{others: map[string]*metered{model: {health: &health{}}}}
	for _, err := range ends {
		m.others[model].health.record(err)
	}
	time.Sleep(while)
	return m.OtherTroubles()
}

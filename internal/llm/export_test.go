package llm

import (
	"time"

	"dragoman/internal/httpapi"
)

// TroublesAfter is what status tells of other models a while after each call
// of model has ended like this.
func TroublesAfter(while time.Duration, model string, ends ...error) []httpapi.OtherTrouble {
	m := &Models{made: map[string]*metered{model: {health: &health{}}}}
	for _, err := range ends {
		m.made[model].health.called(err)
	}
	time.Sleep(while)
	return m.OtherTroubles()
}

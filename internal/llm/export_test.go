package llm

import "time"

// TroublesAfter returns OtherTroubles a while after calls of model with these
// results.
func TroublesAfter(while time.Duration, model string, results ...error) []OtherTrouble {
	m := &Models{others: map[string]*metered{model: {health: &health{other: true}}}}
	for _, err := range results {
		m.others[model].health.record(err)
	}
	time.Sleep(while)
	return m.OtherTroubles()
}

package heartbeat_test

import (
	"testing"
	"time"

	"dragoman/heartbeat"

	"github.com/google/go-cmp/cmp"
)

// A cron that means something else than it seems to gets a note.
func TestNotes(t *testing.T) {
	for spec, want := range map[string][]string{
		"0 9 1-7 * 1":       {"it runs on the days 1-7 of the month and also on each weekday 1, not only where both meet"},
		"*/45 * * * *":      {"*/45 is not every 45 minutes: it runs at :00 and :45 of the hour"},
		"*/25 9 * * *":      {"*/25 is not every 25 minutes: it runs at :00, :25 and :50 of the hour"},
		"0 */7 * * *":       {"*/7 is not every 7 hours: it runs at 00, 07, 14 and 21 o'clock"},
		"*/40 */5 13 * fri": {"*/40 is not every 40 minutes: it runs at :00 and :40 of the hour", "*/5 is not every 5 hours: it runs at 00, 05, 10, 15 and 20 o'clock", "it runs on the days 13 of the month and also on each weekday fri, not only where both meet"},
		"*/15 */6 * * *":    nil,
		"0 9 * * 1":         nil,
		"0 9 1 * *":         nil,
		"0 9 */2 * 1":       {"it runs on the days */2 of the month and also on each weekday 1, not only where both meet"},
		"@daily":            nil,
	} {
		if diff := cmp.Diff(want, heartbeat.Notes(cronJob(spec, "UTC"))); diff != "" {
			t.Errorf("Notes(%s) (-want +got):\n%s", spec, diff)
		}
	}
}

// Sunday is 0 and 7.
func TestSundayIsSeven(t *testing.T) {
	friday := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for spec, want := range map[string]int{"0 8 * * 7": 3, "0 8 * * 0": 3, "0 8 * * 6-7": 2, "0 8 * * 1-7": 2, "0 8 * * 3,7": 3, "0 8 * * 1-7/2": 3} {
		next, err := heartbeat.Next(cronJob(spec, "UTC"), friday)
		if err != nil || next.Day() != want {
			t.Errorf("Next(%s) = %v, %v, want day %d", spec, next, err, want)
		}
	}
}

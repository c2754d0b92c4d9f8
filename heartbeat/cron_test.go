package heartbeat_test

import (
	"strings"
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
		"0 9 */2 * 1":       {"*/2 is not every 2 days: it begins again on the 1st of each month", "it runs on the days */2 of the month and also on each weekday 1, not only where both meet"},
		"@daily":            nil,

		"*/90 * * * *":      {"*/90 is not every 90 minutes: it runs at :00 of the hour; write every: 90m for that"},
		"*/60 8-18 * * *":   {"*/60 is not every 60 minutes: it runs at :00 of the hour; write every: 60m for that"},
		"0 */36 * * *":      {"*/36 is not every 36 hours: it runs at 00 o'clock; write every: 36h for that"},
		"10-20/30 * * * *":  {"the step of 10-20/30 is larger than its range: of the minutes it is due on 10 alone"},
		"0 5/20 * * *":      {"the step of 5/20 is larger than its range: of the hours it is due on 5 alone"},
		"0 0 */45 * *":      {"the step of */45 is larger than its range: of the days it is due on 1 alone"},
		"0 0 1 */12 *":      {"the step of */12 is larger than its range: of the months it is due on jan alone"},
		"0 0 * * */7":       {"the step of */7 is larger than its range: of the weekdays it is due on sun alone"},
		"0 0 * * 1-5/9":     {"the step of 1-5/9 is larger than its range: of the weekdays it is due on mon alone"},
		"0 0 * * */2":       {"*/2 is not every 2 weekdays: it begins again with each sun"},
		"0 0 */3 * *":       {"*/3 is not every 3 days: it begins again on the 1st of each month"},
		"0 0 1 */5 *":       {"*/5 is not every 5 months: it begins again with each jan"},
		"5,*/90 * * * *":    {"*/90 is not every 90 minutes: it runs at :00 of the hour; write every: 90m for that"},
		"0 0 31 * *":        {"it does not run in February, April, June, September and November, without such a day"},
		"0 0 30 feb,mar *":  {"it does not run in February, without such a day"},
		"0 0 29 2 *":        {"it does not run in February of most years, without such a day"},
		"0 0 15,31 * *":     nil,
		"0 0 31 1 *":        nil,
		"* 9 * * *":         {"it runs each minute of these hours, 60 times an hour: for once an hour write a minute, like 0 9 * * *"},
		"*/1 8-18 * * 1":    {"it runs each minute of these hours, 60 times an hour: for once an hour write a minute, like 0 8-18 * * 1"},
		"* * * * *":         nil,
		"5/15 * * * *":      nil,
		"0-45/15 8/4 * * *": nil,
	} {
		if diff := cmp.Diff(want, heartbeat.Notes(cronJob(spec, "UTC"))); diff != "" {
			t.Errorf("Notes(%s) (-want +got):\n%s", spec, diff)
		}
	}
}

// A cron that can mean nothing is refused, with what to write.
func TestCronErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"0 22-6 * * *":      "22-6 goes backwards: write 22-23,0-6",
		"0 9 * * fri-mon":   "fri-mon goes backwards: write fri-sat,sun-mon",
		"0 9 * nov-feb *":   "nov-feb goes backwards: write nov-dec,jan-feb",
		"0 9 28-1 * *":      "28-1 goes backwards: write 28-31,1",
		"50-10/5 * * * *":   "50-10/5 goes backwards: list the minutes",
		"0 9 * * 1,6-2":     "6-2 goes backwards: write sat,sun-tue",
		"0 0 31 2 *":        "so it would never run",
		"0 0 30 feb *":      "so it would never run",
		"0 0 31 4,6,9,11 *": "so it would never run",
		"0 0 31 */30 *":     "",
		"0 24 * * *":        "above maximum (23)",
		"60 * * * *":        "above maximum (59)",
	} {
		err := heartbeat.Validate(cronJob(spec, "UTC"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Validate(%s) = %v, want %q", spec, err, want)
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

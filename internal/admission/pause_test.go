package admission_test

import (
	"testing"
	"time"

	"dragoman/internal/admission"
)

func TestPause(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		settings admission.PauseSettings
		want     admission.Verdict
	}{
		{"ends", admission.PauseSettings{Answer: "Back on Monday."}, admission.End("Back on Monday.")},
		{"keeps", admission.PauseSettings{Answer: "Later.", Keep: true}, admission.Verdict{Say: "Later.", Until: at.Add(time.Hour)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.settings.Rule(admission.Setup{}).Before(t.Context(), admission.Turn{At: at})
			if got != tt.want || err != nil {
				t.Errorf("Before = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	for _, off := range []admission.PauseSettings{{}, {Keep: true}} {
		if rule := off.Rule(admission.Setup{}); rule != nil {
			t.Errorf("without an answer there is the rule %v, want none", rule)
		}
	}
}

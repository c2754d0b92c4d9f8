package admission_test

import (
	"testing"

	"dragoman/internal/admission"
)

func TestPause(t *testing.T) {
	if rule := (&admission.PauseSettings{}).Rule(admission.Setup{}); rule != nil {
		t.Errorf("without an answer there is the rule %v, want none", rule)
	}
	rule := (&admission.PauseSettings{Answer: "Back on Monday."}).Rule(admission.Setup{})
	if got, err := rule.Before(t.Context(), admission.Turn{}); got != "Back on Monday." || err != nil {
		t.Errorf("Before = %q, %v, want the answer", got, err)
	}
}

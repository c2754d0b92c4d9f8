package admission

import (
	"context"
	"time"
)

// Pause ends or parks every turn with the same sentence.
var Pause = Type{Name: "pause", Settings: func() Settings { return new(PauseSettings) }}

// PauseSettings are those of the type [Pause].
type PauseSettings struct {
	Answer string `yaml:"answer" empty:"ok" doc:"While this is set, everybody gets it instead of an answer: the model is not asked, and jobs are skipped. Commands work. Empty: no pause."`
	Keep   bool   `yaml:"keep" doc:"Keep the messages of a pause, and answer them when it is over. Each conversation is told answer once."`
}

// Rule implements [Settings].
func (s *PauseSettings) Rule(Setup) Rule {
	if s.Answer == "" {
		return nil
	}
	return pause(*s)
}

// pauseLook is how often a parked turn asks whether the pause is over, if nobody says so.
const pauseLook = time.Hour

// pause is the rule.
type pause PauseSettings

// Before implements [Rule].
func (p pause) Before(_ context.Context, t Turn) (Verdict, error) {
	if p.Keep {
		return Verdict{Say: p.Answer, Until: t.At.Add(pauseLook)}, nil
	}
	return End(p.Answer), nil
}

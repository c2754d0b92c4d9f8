package admission

import "context"

// Pause ends every turn with the same sentence.
var Pause = Type{Name: "pause", Settings: func() Settings { return new(PauseSettings) }}

// PauseSettings are those of the type [Pause].
type PauseSettings struct {
	Answer string `yaml:"answer" empty:"ok" doc:"While this is set, everybody gets it instead of an answer: the model is not asked, and jobs are skipped. Commands work. Empty: no pause."`
}

// Rule implements [Settings].
func (s *PauseSettings) Rule(Setup) Rule {
	if s.Answer == "" {
		return nil
	}
	return pause(s.Answer)
}

// pause is the sentence.
type pause string

// Before implements [Rule].
func (p pause) Before(context.Context, Turn) (string, error) { return string(p), nil }

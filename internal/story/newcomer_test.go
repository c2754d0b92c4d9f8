package story_test

import (
	"strings"
	"testing"

	"dragoman/agent/agenttest/providers"
)

// A key is all that somebody has: the model is chosen from those that OpenAI
// lists, the start says which one and why, and the first question is answered
// with a tool.
func TestKeyAlone(t *testing.T) {
	for _, p := range []providers.Provider{providers.GPT56(), providers.GPT6Astra()} {
		t.Run(p.Name, func(t *testing.T) {
			b := newBooth(t, &matrix{cells: map[string]string{}}, p, "")
			b.configure(plan{model: "# no word about a model", rest: "agent: {system_prompt: " + mark + "}"})
			b.env = append(b.env, "OPENAI_API_KEY="+providers.Key)
			d := b.start()
			answer, err := b.say(func() { b.tell(ann, "What time is it?\ncall time {\"zone\":\"UTC\"}") })
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{p.Model, "OPENAI_API_KEY is set", "will be shut down soon"} {
				if !strings.Contains(d.out.String(), want) {
					t.Errorf("the start says nothing of %q", want)
				}
			}
			if refused := b.s.Refused(); len(refused) != 0 || len(b.s.Requests()) == 0 {
				t.Errorf("refused: %q, want each of %d requests to be taken; the answer was %q", refused, len(b.s.Requests()), answer)
			}
			if strings.Contains(d.out.String(), providers.Key) {
				t.Error("the key stands in what the daemon says")
			}
		})
	}
}

package channels_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/channels"
)

func TestThoughtsKeepTheNewest(t *testing.T) {
	var th channels.Thoughts
	var all strings.Builder
	for i := range 60_000 {
		piece := []string{"so ", "über ", "思考", "\n"}[i%4]
		all.WriteString(piece)
		th.Add(piece)
	}
	got := th.String()
	if !strings.HasSuffix(all.String(), got) || !utf8.ValidString(got) {
		t.Fatal("String is not the valid end of all thoughts")
	}
	if len(got) > channels.MostThoughts || len(got) < channels.MostThoughts-utf8.UTFMax {
		t.Errorf("%d bytes are kept, want about %d", len(got), channels.MostThoughts)
	}
	if taken := th.Take(); taken != got || th.String() != "" {
		t.Errorf("Take returned %d bytes and left %q, want %d and nothing", len(taken), th.String(), len(got))
	}
	th.Add(strings.Repeat("x", 3*channels.MostThoughts) + "end")
	if got := th.String(); len(got) != channels.MostThoughts || !strings.HasSuffix(got, "xend") {
		t.Errorf("of one large piece %d bytes are kept, want the last %d", len(got), channels.MostThoughts)
	}
}

package channels

import "strings"

// MostThoughts is how many bytes of a model's thoughts are kept for the people
// who watch.
const MostThoughts = 64 << 10

// Thoughts keeps the last [MostThoughts] bytes of a model's thoughts. Its zero
// value is ready to use. It is not safe for concurrent use.
type Thoughts struct{ kept []byte }

// Add appends piece. It drops old bytes many at a time, so that no byte is moved
// more than once or twice.
func (t *Thoughts) Add(piece string) {
	if len(piece) > MostThoughts {
		piece = piece[len(piece)-MostThoughts:]
	}
	t.kept = append(t.kept, piece...)
	if len(t.kept) > 2*MostThoughts {
		t.kept = t.kept[:copy(t.kept, t.newest())]
	}
}

func (t *Thoughts) newest() []byte { return t.kept[max(0, len(t.kept)-MostThoughts):] }

// String returns valid UTF-8: a character that was cut in half is left out.
func (t *Thoughts) String() string { return strings.ToValidUTF8(string(t.newest()), "") }

// Take returns the thoughts and empties t.
func (t *Thoughts) Take() string {
	s := t.String()
	t.kept = t.kept[:0]
	return s
}

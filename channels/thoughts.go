package channels

import "strings"

// MostThoughts is how much of a model's thoughts is kept for those who watch,
// in bytes.
const MostThoughts = 64 << 10

// Thoughts are the newest of a model's thoughts: their last [MostThoughts]
// bytes. Its zero value is empty and ready. It is not safe for concurrent use.
type Thoughts struct{ kept []byte }

// Add takes the next piece. The oldest bytes are dropped many at a time, so
// that no byte is moved more than once or twice.
func (t *Thoughts) Add(piece string) {
	if len(piece) > MostThoughts {
		piece = piece[len(piece)-MostThoughts:]
	}
	if t.kept = append(t.kept, piece...); len(t.kept) > 2*MostThoughts {
		t.kept = t.kept[:copy(t.kept, t.newest())]
	}
}

func (t *Thoughts) newest() []byte { return t.kept[max(0, len(t.kept)-MostThoughts):] }

// String is valid UTF-8: a character that was cut in half is left out.
func (t *Thoughts) String() string { return strings.ToValidUTF8(string(t.newest()), "") }

// Take returns them and keeps none.
func (t *Thoughts) Take() string {
	s := t.String()
	t.kept = t.kept[:0]
	return s
}

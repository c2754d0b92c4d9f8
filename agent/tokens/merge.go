package tokens

// part is a part of a piece, at first one byte. Its place is where it begins.
type part struct {
	// previous and next are the places of its neighbours: -1 and the piece's length at
	// the borders.
	previous, next int32
	// joined is the rank of this part and the next one together.
	joined uint32
}

// merger counts tokens by byte-pair encoding: of all neighbours that make a token
// together, those whose token has the lowest rank are joined, the leftmost first, until
// there are none. It keeps its memory from one piece to the next.
type merger struct {
	vocabulary *vocabulary
	parts      []part
	// waiting is a heap of the pairs that can be joined: rank, then place, in one number.
	waiting []uint64
}

// count returns how many tokens the piece has. It takes n log n steps for n bytes.
func (m *merger) count(piece string) int {
	if len(piece) == 1 || m.vocabulary.rank(piece) != noRank {
		return 1
	}
	m.parts = m.parts[:0]
	m.waiting = m.waiting[:0]
	for i := range int32(len(piece)) {
		m.parts = append(m.parts, part{previous: i - 1, next: i + 1})
	}
	for i := range m.parts {
		m.look(piece, int32(i))
	}
	left := len(piece)
	for len(m.waiting) > 0 {
		least := m.pop()
		i := int32(uint32(least))
		if m.parts[i].joined != uint32(least>>32) {
			continue // one of the two was joined with another since
		}
		gone := m.parts[i].next
		m.parts[gone].joined = noRank
		m.parts[i].next = m.parts[gone].next
		if after := m.parts[i].next; int(after) < len(piece) {
			m.parts[after].previous = i
		}
		left--
		m.look(piece, i)
		if before := m.parts[i].previous; before >= 0 {
			m.look(piece, before)
		}
	}
	return left
}

// look finds out whether the part at i makes a token with the next one.
func (m *merger) look(piece string, i int32) {
	p := &m.parts[i]
	p.joined = noRank
	if int(p.next) == len(piece) {
		return
	}
	p.joined = m.vocabulary.rank(piece[i:m.parts[p.next].next])
	if p.joined != noRank {
		m.push(uint64(p.joined)<<32 | uint64(i))
	}
}

func (m *merger) push(pair uint64) {
	h := append(m.waiting, pair)
	i := len(h) - 1
	for i > 0 && pair < h[(i-1)/2] {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = pair
	m.waiting = h
}

// pop takes the pair with the lowest rank, of equal ones the leftmost.
func (m *merger) pop() uint64 {
	h := m.waiting
	least := h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	m.waiting = h
	i := 0
	for 2*i+1 < len(h) {
		child := 2*i + 1
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if last <= h[child] {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	return least
}

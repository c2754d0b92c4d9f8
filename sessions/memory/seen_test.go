package memory_test

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"dragoman/sessions/memory"
)

// SeenIDs is a map, whatever came in rows, before or after.
func TestSeenIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Custom(func(t *rapid.T) (id memory.SeenID) {
			// Few ids, and many of them in one slot.
			id[3], id[15] = rapid.Byte().Draw(t, "slot")%4, rapid.Byte().Draw(t, "id")%8
			return id
		})
		var rows []byte
		want := map[memory.SeenID]int32{}
		for n := range rapid.IntRange(0, 40).Draw(t, "rows") {
			x := id.Draw(t, "row")
			rows = binary.BigEndian.AppendUint32(append(rows, x[:]...), uint32(n))
			want[x] = int32(n)
		}
		s := memory.NewSeenIDs(rows)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch x := id.Draw(t, "id"); rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				seq := rapid.Int32Range(0, 99).Draw(t, "seq")
				s.Put(x, seq)
				want[x] = seq
			case 1:
				s.Drop(x)
				delete(want, x)
			default:
				got, seen := s.Seq(x)
				if seq, ok := want[x]; seen != ok || ok && got != seq {
					t.Fatalf("Seq(%x) = %d, %v, want %d, %v", x, got, seen, seq, ok)
				}
			}
		}
	})
	if _, seen := new(memory.SeenIDs).Seq(memory.SeenID{}); seen {
		t.Error("an empty one has seen something")
	}
}

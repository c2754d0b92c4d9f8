package tinymodel

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The types of values in a GGUF file.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// alignment is where each tensor begins.
const alignment = 32

// file gathers a GGUF file of version 3. Its tensors are of 32-bit floats.
type file struct {
	facts   bytes.Buffer
	nFacts  uint64
	infos   bytes.Buffer
	data    bytes.Buffer
	tensors uint64
}

func number(b *bytes.Buffer, n any) {
	_ = binary.Write(b, binary.LittleEndian, n) // a buffer takes every number
}

func text(b *bytes.Buffer, s string) {
	number(b, uint64(len(s)))
	b.WriteString(s)
}

func (f *file) key(name string, kind uint32) {
	f.nFacts++
	text(&f.facts, name)
	number(&f.facts, kind)
}

func (f *file) uint32(name string, n int) {
	f.key(name, typeUint32)
	number(&f.facts, uint32(n))
}

func (f *file) float32(name string, x float32) {
	f.key(name, typeFloat32)
	number(&f.facts, x)
}

func (f *file) bool(name string, yes bool) {
	f.key(name, typeBool)
	number(&f.facts, yes)
}

func (f *file) string(name, s string) {
	f.key(name, typeString)
	text(&f.facts, s)
}

func (f *file) array(name string, kind uint32, n int) {
	f.key(name, typeArray)
	number(&f.facts, kind)
	number(&f.facts, uint64(n))
}

func (f *file) strings(name string, list []string) {
	f.array(name, typeString, len(list))
	for _, s := range list {
		text(&f.facts, s)
	}
}

func (f *file) int32s(name string, list []int32) {
	f.array(name, typeInt32, len(list))
	number(&f.facts, list)
}

// tensor adds a matrix of rows of equal length, or a vector if there is one row
// and flat is set.
func (f *file) tensor(name string, rows, columns int, flat bool, values []float32) {
	f.tensors++
	text(&f.infos, name)
	if flat {
		number(&f.infos, uint32(1))
		number(&f.infos, uint64(columns))
	} else {
		number(&f.infos, uint32(2))
		number(&f.infos, []uint64{uint64(columns), uint64(rows)})
	}
	number(&f.infos, uint32(0)) // 32-bit floats
	number(&f.infos, uint64(f.data.Len()))
	raw := make([]byte, 4*rows*columns)
	for i, x := range values {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
	}
	f.data.Write(raw)
	pad(&f.data)
}

func pad(b *bytes.Buffer) {
	if over := b.Len() % alignment; over > 0 {
		b.Write(make([]byte, alignment-over))
	}
}

func (f *file) bytes() []byte {
	var out bytes.Buffer
	out.WriteString("GGUF")
	number(&out, uint32(3))
	number(&out, f.tensors)
	number(&out, f.nFacts)
	out.Write(f.facts.Bytes())
	out.Write(f.infos.Bytes())
	pad(&out)
	out.Write(f.data.Bytes())
	return out.Bytes()
}

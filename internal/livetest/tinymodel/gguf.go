package tinymodel

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The value types of a GGUF file.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// alignment is the alignment of each tensor in bytes.
const alignment = 32

// file builds a GGUF file of version 3, with tensors of 32-bit floats.
type file struct {
	metadata bytes.Buffer
	keys     uint64
	infos    bytes.Buffer
	data     bytes.Buffer
	tensors  uint64
}

func putNumber(b *bytes.Buffer, n any) {
	_ = binary.Write(b, binary.LittleEndian, n) // writing a number to a buffer cannot fail
}

func putText(b *bytes.Buffer, s string) {
	putNumber(b, uint64(len(s)))
	b.WriteString(s)
}

func (f *file) key(name string, kind uint32) {
	f.keys++
	putText(&f.metadata, name)
	putNumber(&f.metadata, kind)
}

func (f *file) uint32(name string, n int) {
	f.key(name, typeUint32)
	putNumber(&f.metadata, uint32(n))
}

func (f *file) float32(name string, x float32) {
	f.key(name, typeFloat32)
	putNumber(&f.metadata, x)
}

func (f *file) bool(name string, yes bool) {
	f.key(name, typeBool)
	putNumber(&f.metadata, yes)
}

func (f *file) string(name, s string) {
	f.key(name, typeString)
	putText(&f.metadata, s)
}

func (f *file) array(name string, kind uint32, n int) {
	f.key(name, typeArray)
	putNumber(&f.metadata, kind)
	putNumber(&f.metadata, uint64(n))
}

func (f *file) strings(name string, list []string) {
	f.array(name, typeString, len(list))
	for _, s := range list {
		putText(&f.metadata, s)
	}
}

func (f *file) int32s(name string, list []int32) {
	f.array(name, typeInt32, len(list))
	putNumber(&f.metadata, list)
}

// tensor adds a matrix of rows × columns, or a vector if flat is set and there
// is one row. values may be nil for zeros.
func (f *file) tensor(name string, rows, columns int, flat bool, values []float32) {
	f.tensors++
	putText(&f.infos, name)
	if flat {
		putNumber(&f.infos, uint32(1))
		putNumber(&f.infos, uint64(columns))
	} else {
		putNumber(&f.infos, uint32(2))
		putNumber(&f.infos, []uint64{uint64(columns), uint64(rows)})
	}
	putNumber(&f.infos, uint32(0)) // 32-bit floats
	putNumber(&f.infos, uint64(f.data.Len()))
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
	putNumber(&out, uint32(3))
	putNumber(&out, f.tensors)
	putNumber(&out, f.keys)
	out.Write(f.metadata.Bytes())
	out.Write(f.infos.Bytes())
	pad(&out)
	out.Write(f.data.Bytes())
	return out.Bytes()
}

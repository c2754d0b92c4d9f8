package tinymodel_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"dragoman/internal/livetest/tinymodel"
)

func corpus(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func model(t *testing.T) *tinymodel.Model {
	return &tinymodel.Model{
		Name: "test", Corpus: corpus(t), Context: 4096, Control: []string{"<|im_start|>"},
		Lines: []tinymodel.Line{{After: tinymodel.Any, Say: "Hello there, dear friend."}, {After: "<think>\n", Say: "Let me think.", Then: tinymodel.Any}},
	}
}

// The same model gives the same file, with a valid GGUF header.
func TestBytes(t *testing.T) {
	first, err := model(t).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again, err := model(t).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, again) {
		t.Error("two files of the same model differ")
	}
	if string(first[:4]) != "GGUF" || binary.LittleEndian.Uint32(first[4:]) != 3 || binary.LittleEndian.Uint64(first[8:]) != 12 {
		t.Errorf("the file begins with % x, want GGUF, version 3 and 12 tensors", first[:16])
	}
	for _, token := range []string{"Hello\u0120there,\u0120", "<think>\n", "\u0120License", "<|im_start|>"} {
		if !bytes.Contains(first, append(binary.LittleEndian.AppendUint64(nil, uint64(len(token))), token...)) {
			t.Errorf("the vocabulary lacks %q", token)
		}
	}
}

// A model whose lines need too many states is refused.
func TestTooManyLines(t *testing.T) {
	m := model(t)
	for n := range 300 {
		m.Lines[0].Say += fmt.Sprintf("word %d, ", n)
	}
	if _, err := m.Bytes(); err == nil {
		t.Error("Bytes() of a model with too many states = nil error")
	}
}

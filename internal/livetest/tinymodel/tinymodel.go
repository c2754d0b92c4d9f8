package tinymodel

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// merges is how many tokens the tokenizer learns beside the 256 bytes. With
	// them a token is about three and a half letters of English.
	merges = 2000
	// width is how many states a model can have, one for each dimension of its
	// embeddings.
	width = 256
	heads = 4
	// sure is the weight of a state's next token. The norm before it multiplies
	// by 16, so that the next token is 48 ahead of all others, whatever the
	// temperature.
	sure = 3
)

// The kinds of tokens in a GGUF vocabulary.
const (
	kindNormal  = 1
	kindControl = 3
	kindUser    = 4
)

// End is the token that ends an answer, and Begin the one before a prompt.
const (
	Begin = "<s>"
	End   = "</s>"
)

// Any is the After of the line for every token that no other line has.
const Any = "*"

// Line is what a model says after a token.
type Line struct {
	// After is the token, matched in the prompt's text, like "<|call|>", or Any.
	After string
	// Say is the text. It is said in pieces of two words or more.
	Say string
	// Then is the After of the line to go on with. "": the answer ends.
	Then string
}

// Model is a model to be written. Corpus, Context and a line after Any are
// required.
type Model struct {
	Name    string
	Corpus  string // English that its tokenizer is trained on
	Context int    // tokens that it says it was trained for
	// Template is the chat template, in Jinja.
	Template string
	// Control are tokens that templates write, like "<|im_start|>".
	Control []string
	Lines   []Line
}

// Bytes is the model as a GGUF file. It fails if the lines need more states
// than there are.
func (m *Model) Bytes() ([]byte, error) {
	v := m.vocabulary()
	next, state, err := m.machine(v)
	if err != nil {
		return nil, err
	}
	f := &file{}
	m.describe(f, v)
	n := len(v.tokens)
	embeddings, output := make([]float32, n*width), make([]float32, n*width)
	for token, s := range state {
		embeddings[token*width+s] = 1
	}
	for s, token := range next {
		output[token*width+s] = sure
	}
	ones := slices.Repeat([]float32{1}, width)
	f.tensor("token_embd.weight", n, width, false, embeddings)
	f.tensor("output_norm.weight", 1, width, true, ones)
	f.tensor("output.weight", n, width, false, output)
	for _, name := range []string{"attn_norm", "ffn_norm"} {
		f.tensor("blk.0."+name+".weight", 1, width, true, ones)
	}
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"} {
		f.tensor("blk.0."+name+".weight", width, width, false, nil)
	}
	return f.bytes(), nil
}

func (m *Model) describe(f *file, v *vocabulary) {
	f.string("general.architecture", "llama")
	f.string("general.name", m.Name)
	f.uint32("general.file_type", 0)
	f.uint32("llama.block_count", 1)
	f.uint32("llama.context_length", m.Context)
	f.uint32("llama.embedding_length", width)
	f.uint32("llama.feed_forward_length", width)
	f.uint32("llama.attention.head_count", heads)
	f.uint32("llama.attention.head_count_kv", heads)
	f.uint32("llama.rope.dimension_count", width/heads)
	f.uint32("llama.vocab_size", len(v.tokens))
	f.float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
	f.float32("llama.rope.freq_base", 10000)
	f.string("tokenizer.ggml.model", "gpt2")
	f.string("tokenizer.ggml.pre", "gpt-2")
	f.strings("tokenizer.ggml.tokens", v.tokens)
	f.int32s("tokenizer.ggml.token_type", v.kinds)
	f.strings("tokenizer.ggml.merges", v.merges)
	f.uint32("tokenizer.ggml.bos_token_id", v.ids[Begin])
	f.uint32("tokenizer.ggml.eos_token_id", v.ids[End])
	f.uint32("tokenizer.ggml.padding_token_id", v.ids[End])
	f.bool("tokenizer.ggml.add_bos_token", true)
	if m.Template != "" {
		f.string("tokenizer.chat_template", m.Template)
	}
}

type vocabulary struct {
	tokens []string
	kinds  []int32
	merges []string
	ids    map[string]int
}

// add returns the token's id; one that is there already keeps its own.
func (v *vocabulary) add(token string, kind int32) int {
	if id, ok := v.ids[token]; ok {
		return id
	}
	id := len(v.tokens)
	v.tokens, v.kinds, v.ids[token] = append(v.tokens, token), append(v.kinds, kind), id
	return id
}

func (m *Model) vocabulary() *vocabulary {
	v := &vocabulary{ids: make(map[string]int)}
	for _, token := range append([]string{Begin, End}, m.Control...) {
		v.add(token, kindControl)
	}
	for b := range 256 {
		v.add(visible[b], kindNormal)
	}
	for _, p := range train(m.Corpus, merges) {
		v.add(p.left+p.right, kindNormal)
		v.merges = append(v.merges, p.left+" "+p.right)
	}
	return v
}

// machine gives each token of v a state, and each state the token that comes
// next. It adds the pieces of the lines to v: tokens that no text is cut into.
func (m *Model) machine(v *vocabulary) (next []int, state map[int]int, err error) {
	end := v.ids[End]
	next, state = []int{end}, make(map[int]int)
	after := func(token int) (s int) {
		state[token] = len(next)
		next = append(next, end)
		return state[token]
	}
	begin, last := make(map[string]int), make([]int, len(m.Lines))
	for i, l := range m.Lines {
		s := 0
		if l.After != Any {
			s = after(v.add(l.After, kindUser))
		}
		begin[l.After] = s
		for _, p := range v.pieces(l.Say) {
			next[s] = v.add(spell(p), kindNormal)
			s = after(next[s])
		}
		last[i] = s
	}
	for i, l := range m.Lines {
		if l.Then != "" {
			next[last[i]] = next[begin[l.Then]]
		}
	}
	if len(next) > width {
		return nil, nil, fmt.Errorf("tinymodel: the lines need %d states, and there are %d", len(next), width)
	}
	for token := range v.tokens {
		if _, ok := state[token]; !ok {
			state[token] = 0
		}
	}
	return next, state, nil
}

// pieces cuts text into pieces of two words or more, each of which is no token
// yet: a token has one state only.
func (v *vocabulary) pieces(text string) []string {
	var all []string
	seen := make(map[string]bool)
	piece, n := "", 0
	for _, w := range strings.SplitAfter(text, " ") {
		piece += w
		n++
		if _, taken := v.ids[spell(piece)]; n >= 2 && !taken && !seen[piece] {
			all, seen[piece] = append(all, piece), true
			piece, n = "", 0
		}
	}
	if last := len(all) - 1; piece != "" && last >= 0 {
		all[last] += piece // longer than a piece that was free, so free itself
	} else if piece != "" {
		all = append(all, piece)
	}
	return all
}

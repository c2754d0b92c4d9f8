package tinymodel

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// merges is how many tokens the tokenizer learns besides the 256 bytes. A
	// token then has about three and a half letters of English.
	merges = 2000
	// width is the number of possible states: each has one dimension of the
	// embeddings.
	width = 256
	heads = 4
	// nextWeight is the weight of a state's next token. The norm before it
	// multiplies by 16, so the next token is 48 ahead of all others, whatever the
	// temperature.
	nextWeight = 3
)

// The kinds of tokens in a GGUF vocabulary.
const (
	kindNormal  = 1
	kindControl = 3
	kindUser    = 4
)

// Begin is the token before a prompt, and End the one that ends an answer.
const (
	Begin = "<s>"
	End   = "</s>"
)

// Any as Line.After matches every token without its own line.
const Any = "*"

// Line is what a model writes after a token.
type Line struct {
	// After is a token in the prompt's text, like "<|call|>", or Any.
	After string
	// Say is the text. The model writes it in pieces of two or more words.
	Say string
	// Then is the After of the line to continue with; "" ends the answer.
	Then string
}

// Model describes a model to write. Corpus, Context and a line after Any are
// required.
type Model struct {
	Name    string
	Corpus  string // English text to train the tokenizer on
	Context int    // the context length in tokens
	// Template is the chat template, in Jinja.
	Template string
	// Control are tokens that the template writes, like "<|im_start|>".
	Control []string
	Lines   []Line
}

// Bytes returns the model as a GGUF file. It fails if the lines need too many
// states.
func (m *Model) Bytes() ([]byte, error) {
	v := m.vocabulary()
	next, state, err := m.stateMachine(v)
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
		output[token*width+s] = nextWeight
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

// vocabulary is the tokens in the order of their ids, in the form in which a GGUF
// file lists them.
type vocabulary struct {
	tokens []string
	kinds  []int32
	merges []string
	ids    map[string]int
}

// add returns the token's id, and adds the token if it is new.
func (v *vocabulary) add(token string, kind int32) int {
	if id, ok := v.ids[token]; ok {
		return id
	}
	id := len(v.tokens)
	v.tokens = append(v.tokens, token)
	v.kinds = append(v.kinds, kind)
	v.ids[token] = id
	return id
}

func (m *Model) vocabulary() *vocabulary {
	v := &vocabulary{ids: make(map[string]int)}
	for _, token := range append([]string{Begin, End}, m.Control...) {
		v.add(token, kindControl)
	}
	for b := range 256 {
		v.add(byteChars[b], kindNormal)
	}
	for _, p := range train(m.Corpus, merges) {
		v.add(p.left+p.right, kindNormal)
		v.merges = append(v.merges, p.left+" "+p.right)
	}
	return v
}

// stateMachine gives each token a state, and each state its next token. It adds
// the pieces of the lines to v as tokens, which the tokenizer never produces
// from a prompt.
func (m *Model) stateMachine(v *vocabulary) (next []int, state map[int]int, err error) {
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
			next[s] = v.add(toChars(p), kindNormal)
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
		return nil, nil, fmt.Errorf("tinymodel: the lines need %d states, but there are only %d", len(next), width)
	}
	for token := range v.tokens {
		if _, ok := state[token]; !ok {
			state[token] = 0
		}
	}
	return next, state, nil
}

// pieces splits text into pieces of two or more words that are not tokens yet,
// because a token has only one state.
func (v *vocabulary) pieces(text string) []string {
	var all []string
	seen := make(map[string]bool)
	piece, n := "", 0
	for _, w := range strings.SplitAfter(text, " ") {
		piece += w
		n++
		if _, taken := v.ids[toChars(piece)]; n >= 2 && !taken && !seen[piece] {
			all, seen[piece] = append(all, piece), true
			piece, n = "", 0
		}
	}
	if last := len(all) - 1; piece != "" && last >= 0 {
		all[last] += piece // no such token: the shorter piece was not one either
	} else if piece != "" {
		all = append(all, piece)
	}
	return all
}

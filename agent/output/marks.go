package output

import "strings"

// kind says what a mark of a template means in an answer.
type kind int

const (
	opens   kind = iota // thoughts begin
	closes              // thoughts end
	channel             // a header follows that says whether these are thoughts
	ends                // the answer ends, and what follows belongs to another turn
	begins              // a turn begins; at the start of an answer it is the model's own
	calls               // a call of a tool follows
	pairs               // markup whose end looks like a mark: it is text
)

// mark is a mark that the server should have removed from an answer.
type mark struct {
	text string
	kind kind
	// pair is the mark that closes it or, for a closing mark, the one that opens it.
	pair string
}

// marks are the marks in the templates of today's models. A comment names the
// template if few use the mark.
var marks = []mark{
	{"<think>", opens, "</think>"},       // Qwen, DeepSeek, GLM, ...
	{"</think>", closes, "<think>"},      // alone if the template contains the opening one
	{"<thinking>", opens, "</thinking>"}, // tunes that imitate Claude
	{"</thinking>", closes, "<thinking>"},
	{"<thought>", opens, "</thought>"}, // Gemma, asked to think
	{"</thought>", closes, "<thought>"},
	{"[THINK]", opens, "[/THINK]"}, // Magistral
	{"[/THINK]", closes, "[THINK]"},
	{"<|channel>thought", opens, "<channel|>"}, // Gemma 4
	{"<channel|>", closes, "<|channel>thought"},
	{"<|channel|>", channel, ""}, // harmony: gpt-oss
	{"<|start|>", begins, "<|channel|>"},
	{"<|end|>", ends, ""}, // harmony, Phi
	{"<|return|>", ends, ""},
	{"<|call|>", ends, ""},
	{"<|im_start|>", begins, "\n"}, // ChatML
	{"<|im_end|>", ends, ""},
	{"<|start_header_id|>", begins, "<|end_header_id|>"}, // Llama 3
	{"<|eot_id|>", ends, ""},
	{"<|eom_id|>", ends, ""},
	{"<|end_of_text|>", ends, ""},
	{"<start_of_turn>", begins, "\n"}, // Gemma
	{"<end_of_turn>", ends, ""},
	{"<|turn>", begins, "\n"}, // Gemma 4
	{"<turn|>", ends, ""},
	{"<|user|>", ends, ""}, // Phi, GLM, Zephyr
	{"<|assistant|>", begins, "\n"},
	{"<|endoftext|>", ends, ""}, // GPT-2 and models with its tokens
	{"<|EOT|>", ends, ""},
	{"<|END_OF_TURN_TOKEN|>", ends, ""},    // Command R
	{"<｜end▁of▁sentence｜>", ends, ""},      // DeepSeek
	{"</s>", ends, "<s>"},                  // Llama 2, Mistral
	{"<s>", pairs, "</s>"},                 // also strikethrough text
	{"<eos>", ends, ""},                    // Gemma
	{"[/INST]", ends, ""},                  // Llama 2, Mistral
	{"<tool_call>", calls, "</tool_call>"}, // Hermes, Qwen
	{"<function=", calls, "</function>"},   // Llama 3.1 with its own prompt
	{"<|python_tag|>", calls, ""},          // Llama 3
	{"[TOOL_CALLS]", calls, ""},            // Mistral
}

// byStart holds the marks by their first byte.
var byStart = func() (t [256][]*mark) {
	for i := range marks {
		b := marks[i].text[0]
		t[b] = append(t[b], &marks[i])
	}
	return t
}()

// markAt returns the mark at the start of s. partly says that s may still become one
// with more text.
func markAt(s string) (m *mark, partly bool) {
	for _, k := range byStart[s[0]] {
		if strings.HasPrefix(s, k.text) {
			return k, false
		}
		partly = partly || len(s) < len(k.text) && strings.HasPrefix(k.text, s)
	}
	return nil, partly
}

package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxTools = 300
	maxPages = 20
	// maxDefinition bounds the canonical form of one tool. A note has room for it.
	maxDefinition = 32 << 10
	// maxListing bounds all of them together.
	maxListing = 1 << 20
	// perTool is about what a tool costs that says nothing about itself.
	perTool = 512
	// maxDescription bounds what the model reads of one.
	maxDescription = 1 << 10
	// maxOwn bounds the name that a server gives a tool.
	maxOwn = 128
)

// definition is all that a server says about a tool and that a model or a person may go by.
type definition struct {
	Name         string               `json:"name"`
	Title        string               `json:"title,omitempty"`
	Description  string               `json:"description,omitempty"`
	InputSchema  any                  `json:"inputSchema,omitempty"`
	OutputSchema any                  `json:"outputSchema,omitempty"`
	Annotations  *sdk.ToolAnnotations `json:"annotations,omitempty"`
}

// listed is a tool of a listing.
type listed struct {
	own string
	// text is its definition as canonical JSON: keys sorted, no spaces.
	text json.RawMessage
	hash string
}

// listing is what a server listed.
type listing struct {
	tools []listed // by their own names
	// odd says what was left out, for people.
	odd  []string
	size int // of the tools' definitions
	seen int // about the bytes that the library keeps of them and of what was left out
	// protocol and name are those of the connection.
	protocol, name string
}

// byOwn returns the tool of that name.
func (f *listing) byOwn(own string) (listed, bool) {
	i, found := slices.BinarySearchFunc(f.tools, own, func(t listed, own string) int { return cmp.Compare(t.own, own) })
	if !found {
		return listed{}, false
	}
	return f.tools[i], true
}

// digest stands for all tools of a listing.
func (f *listing) digest() string {
	sum := sha256.New()
	for _, t := range f.tools {
		fmt.Fprintln(sum, t.hash)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// add adds a tool, or says why not.
func (f *listing) add(t *sdk.Tool) {
	if t == nil {
		return
	}
	leave := func(why string) {
		if len(f.odd) < tailLines {
			f.odd = append(f.odd, fmt.Sprintf("the tool %q is left out: %s", cleanText(t.Name, 64), why))
		}
	}
	f.seen += len(t.Name) + perTool
	if len(t.Name) > maxOwn {
		leave("its name is too long")
		return
	}
	text, err := canonical(definition{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	f.seen += len(text)
	switch {
	case err != nil:
		leave("what it says about itself is no JSON")
	case len(text) > maxDefinition:
		leave(fmt.Sprintf("it says more than %d KiB about itself", maxDefinition>>10))
	case weigh(text) != nil:
		leave("its schema is nested too deep")
	case f.size+len(text) > maxListing:
		leave(fmt.Sprintf("all tools together say more than %d KiB about themselves", maxListing>>10))
	default:
		f.size += len(text)
		f.tools = append(f.tools, listed{own: t.Name, text: text, hash: hashOf(text)})
	}
}

// sort sorts the tools, and leaves out the second of two with one name.
func (f *listing) sort() {
	slices.SortStableFunc(f.tools, func(x, y listed) int { return cmp.Compare(x.own, y.own) })
	f.tools = slices.CompactFunc(f.tools, func(x, y listed) bool {
		if x.own == y.own {
			f.odd = append(f.odd, fmt.Sprintf("two tools are called %q: one is left out", cleanText(x.own, 64)))
		}
		return x.own == y.own
	})
}

// compact keeps of a listing what is needed later, in few bytes: the library keeps all pages of
// the last one, and each schema as a tree.
func compact(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		listed, is := result.(*sdk.ListToolsResult)
		if err != nil || !is {
			return result, err
		}
		listed.TTLMs = 0 // what has changed is asked for again
		if len(listed.Tools) > maxTools {
			listed.Tools = slices.Clone(listed.Tools[:maxTools+1]) // one more, so that it is told
		}
		for _, t := range listed.Tools {
			if t == nil {
				continue
			}
			t.Meta = nil
			t.Icons = nil
			t.InputSchema = compactSchema(t.InputSchema)
			t.OutputSchema = compactSchema(t.OutputSchema)
		}
		return listed, nil
	}
}

// compactSchema is a schema as JSON; nil if there is none.
func compactSchema(schema any) any {
	text, err := encode(schema)
	if schema == nil || err != nil {
		return schema
	}
	return text
}

// canonical is the one spelling of v as JSON: keys sorted, no spaces, no escapes of HTML.
func canonical(v any) (json.RawMessage, error) {
	first, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(first))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(plain)
	return bytes.TrimSpace(b.Bytes()), err
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Package tools holds the built-in tools: files in a workspace, the time, web pages,
// long-term memory, and a search through the conversation.
//
// The promise: a tool reaches exactly what its description says, whatever the model
// writes into its arguments. The file tools open everything through an [os.Root] and
// touch only regular files without hard links, so neither "..", nor a link, nor a
// race that swaps them leads out of the workspace. web_fetch checks the resolved
// address at the moment of connecting, so no spelling, redirect or change of a DNS
// name leads into the operator's network. Memory and search take their scope from the
// call, never from the model.
//
// Failure: every error is a sentence that tells the model what to do instead. It
// contains no path outside the workspace and no secret. A tool that fails has changed
// nothing, except that write_file may leave empty parent folders.
//
// Nothing here starts goroutines; web_fetch closes its connections before it returns.
// All tools are safe for concurrent use.
package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"dragoman/agent"
)

// tool is an [agent.Tool] with a description and a function. Its arguments are
// decoded into an A.
type tool[A any] struct {
	spec agent.Spec
	// arguments describes an A. It is made when a model or a call first needs it: most of
	// the tools that are made are asked for nothing but their names.
	arguments func() arguments
	run       func(ctx context.Context, c agent.Call, args A) (string, error)
	// effect, if not nil, is the effect of a call with these arguments.
	effect func(args A, seen agent.Seen) agent.Effect
	// ask, if not nil, is what people read who are asked about a call with these arguments.
	ask func(ctx context.Context, c agent.Call, args A) (string, error)
	// weighty, if not nil, says which calls are: see [agent.WeightyTool].
	weighty func(args A, earlier int, nobody bool) bool
	// files, if not nil, names the files to which a yes is bound: see [agent.FileTool].
	files func(ctx context.Context, c agent.Call) ([]agent.File, error)
}

// arguments are what a tool is called with.
type arguments struct {
	schema json.RawMessage
	known  []string // their names
}

// newTool declares a tool whose arguments are the fields of A. The tag jsonschema
// describes each to the model. Fields without omitempty are required. For others, see
// [withoutExtras].
func newTool[A any](spec agent.Spec, run func(context.Context, agent.Call, A) (string, error)) *tool[A] {
	return &tool[A]{spec: spec, run: run, arguments: sync.OnceValue(func() arguments { return argumentsOf[A](spec.Name) })}
}

// argumentsOf describes the fields of A, the arguments of the tool with this name.
func argumentsOf[A any](name string) arguments {
	schema, err := jsonschema.For[A](&jsonschema.ForOptions{TypeSchemas: argumentTypes})
	var text json.RawMessage
	if err == nil {
		text, err = json.Marshal(schema)
	}
	if err != nil {
		panic(fmt.Sprintf("tools: the arguments of %s: %v", name, err))
	}
	if len(schema.Properties) == 0 { // the library leaves them out then, which OpenAI refuses
		text = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return arguments{schema: text, known: slices.Collect(maps.Keys(schema.Properties))}
}

// newReader declares a tool that changes nothing, so it may run beside others and be
// repeated.
func newReader[A any](spec agent.Spec, run func(context.Context, agent.Call, A) (string, error)) *tool[A] {
	spec.Parallel, spec.Repeatable = true, true
	spec.Effect = cmp.Or(spec.Effect, agent.EffectRead)
	return newTool(spec, run)
}

var argumentTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[number]():  {Type: "integer"},
	reflect.TypeFor[numbers](): {Type: "array", Items: &jsonschema.Schema{Type: "integer"}},
	reflect.TypeFor[whose]():   {Type: "string", Enum: []any{"me", "chat"}},
	// The model reads at schedule what it may hold, and each request has both.
	reflect.TypeFor[changeRepeat](): {Type: "object"},
	reflect.TypeFor[words]():        {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
}

func (t *tool[A]) Spec() agent.Spec {
	spec := t.spec
	spec.Parameters = t.arguments().schema
	return spec
}

// name is Spec().Name, without a schema.
func (t *tool[A]) name() string { return t.spec.Name }

// EffectOf is of agent.EffectTool. Arguments that cannot be read have the effect of the
// tool: the call will fail.
func (t *tool[A]) EffectOf(c agent.Call, seen agent.Seen) agent.Effect {
	if t.effect == nil {
		return t.spec.Effect
	}
	args, _, err := t.read(c)
	if err != nil {
		return t.spec.Effect
	}
	return t.effect(args, seen)
}

// Ask is of agent.AskTool. "" shows the arguments themselves.
func (t *tool[A]) Ask(ctx context.Context, c agent.Call) (string, error) {
	if t.ask == nil {
		return "", nil
	}
	args, _, err := t.read(c)
	if err != nil {
		return "", err
	}
	text, err := t.ask(ctx, c, args)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.spec.Name, err)
	}
	return text, nil
}

// IsWeighty is of agent.WeightyTool. Arguments that cannot be read are: nothing is known of
// them.
func (t *tool[A]) IsWeighty(c agent.Call, earlier int, nobody bool) bool {
	if t.weighty == nil {
		return false
	}
	args, _, err := t.read(c)
	return err != nil || t.weighty(args, earlier, nobody)
}

// Files is of agent.FileTool.
func (t *tool[A]) Files(ctx context.Context, c agent.Call) ([]agent.File, error) {
	if t.files == nil {
		return nil, nil
	}
	return t.files(ctx, c)
}

func (t *tool[A]) Run(ctx context.Context, c agent.Call) (string, error) {
	args, ignored, err := t.read(c)
	if err != nil {
		return "", err
	}
	result, err := t.run(ctx, c, args)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.spec.Name, err)
	}
	if len(ignored) > 0 {
		result += fmt.Sprintf("\n[%s has no argument called %.40q; it was ignored]", t.spec.Name, strings.Join(ignored, ", "))
	}
	return result, nil
}

// read decodes the arguments of a call. ignored are those of [withoutExtras].
func (t *tool[A]) read(c agent.Call) (args A, ignored []string, err error) {
	raw, ignored := withoutExtras(c.Args, t.arguments().known, !t.spec.Repeatable || t.ask != nil)
	if err := decode(raw, &args); err != nil {
		return args, nil, fmt.Errorf("%s: arguments: %w", t.spec.Name, err)
	}
	return args, ignored, nil
}

// explaining are names of arguments in which a model says why it makes a call. No tool
// has one of them, and no call means less without it.
var explaining = []string{"reason", "reasoning", "explanation", "thought", "thoughts", "rationale", "justification", "purpose", "intent"}

// withoutExtras removes arguments that the tool does not know and that the call can do
// without: an explanation, and any for a tool that only reads. If strict, as for a tool that
// changes something, or tells somebody something, the rest stay, and are refused: they might
// be meant to change what it does ("append": true on one that overwrites). ignored are names
// that the model should read.
func withoutExtras(raw json.RawMessage, known []string, strict bool) (clean json.RawMessage, ignored []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw, nil
	}
	all := len(fields)
	for name := range fields {
		knows := slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		explains := slices.Contains(explaining, strings.ToLower(name))
		switch {
		case knows, !explains && strict:
			continue
		case !explains:
			ignored = append(ignored, name)
		}
		delete(fields, name)
	}
	if len(fields) == all {
		return raw, nil
	}
	clean, err := json.Marshal(fields)
	if err != nil {
		return raw, nil // cannot happen: it was decoded from JSON
	}
	slices.Sort(ignored)
	return clean, ignored
}

// decode is strict about what [withoutExtras] leaves.
func decode(raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return explainJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// explainJSON tells the model what is wrong with its arguments.
func explainJSON(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return fmt.Errorf("want a JSON object, got a %s", wrong.Value)
		}
		return fmt.Errorf("%q must be a %s, not a %s", wrong.Field, strings.Replace(wrong.Type.Kind().String(), "bool", "boolean", 1), wrong.Value)
	}
	return fmt.Errorf("%.200s", strings.TrimPrefix(err.Error(), "json: "))
}

// number is a whole number as models write it: 10, 10.0 or "10".
type number int64

// UnmarshalJSON accepts all of these spellings.
func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" || text == "" {
		return nil
	}
	float, err := strconv.ParseFloat(text, 64)
	const exact = 1 << 53 // beyond it a float64 cannot represent every whole number
	if err != nil || float != math.Trunc(float) || float > exact || float < -exact {
		return fmt.Errorf("%.40q is not a whole number", text)
	}
	*n = number(float)
	return nil
}

// clamp returns n limited to 1 and most, or otherwise if n is 0.
func (n number) clamp(otherwise, most int) int {
	if n == 0 {
		return otherwise
	}
	return int(min(max(n, 1), number(most)))
}

// numbers are whole numbers as models write them: a list, or a single one.
type numbers []number

// UnmarshalJSON accepts both.
func (n *numbers) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, (*[]number)(n))
	}
	var one number
	err := json.Unmarshal(b, &one)
	if err == nil && one != 0 {
		*n = numbers{one}
	}
	return err
}

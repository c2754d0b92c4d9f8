package tools_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dragoman/agent/tools"
)

// knowers are the folders whose code may name tools: the tools, a model that calls them,
// and the formats of transcripts. In internal/app a section of the configuration has the
// name of a tool.
var knowers = []string{"agent/tools", "agent/demo", "agent/agenttest", "sessions", "internal/app/websearch.go"}

// A tool's name is in its file and nowhere else: what others must know of it is in its Spec.
func TestNothingElseKnowsAToolByName(t *testing.T) {
	var names []string
	for _, name := range tools.Names() {
		if strings.Contains(name, "_") { // a word like "time" is more than a tool
			names = append(names, name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("only the names %q are looked for", names)
	}
	for _, dir := range []string{"agent", "channels", "cmd", "heartbeat", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, k := range knowers {
				if strings.HasPrefix(path, filepath.Join("../..", k)) {
					return nil
				}
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, is := n.(*ast.BasicLit)
				if !is || lit.Kind != token.STRING {
					return true
				}
				if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(names, text) {
					t.Errorf("%s knows the tool %q by its name", path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The names are read at each start, to check the configuration. With the schemas of all
// tools they took 0.47 MB.
func TestNamesTakeLittle(t *testing.T) {
	least := uint64(math.MaxUint64)
	for range 5 { // what is left of another test may allocate meanwhile
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tools.Names()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 64<<10 {
		t.Errorf("the names of the tools took %d bytes, want at most %d", least, 64<<10)
	}
}

package app_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dragoman/agent"
)

// toolsPage is docs/tools.md: its table has a row for some tools, whose last cell is what each
// costs.
const toolsPage = "../../docs/tools.md"

// effectWords are what the table says of an effect.
var effectWords = map[agent.Effect]string{agent.EffectRead: "reads", agent.EffectOwn: "own", agent.EffectOut: "*out*", agent.EffectRun: "*runs*"}

var (
	rowOfTools = regexp.MustCompile("(?m)^\\| `.*\\|$")
	nameOfTool = regexp.MustCompile("`([a-z_]+)`")
	sumOfCosts = regexp.MustCompile(`(?s)<!-- sum -->.*<!-- /sum -->`)
	numbers    = regexp.MustCompile(`[0-9][0-9,]*`)
)

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(toolsPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withCosts is page with these costs in the rows of the tools. Each tool has to be in one row,
// with its effect.
func withCosts(t *testing.T, page string, costs map[string]int, effects map[string]agent.Effect) string {
	t.Helper()
	rows := map[string]int{}
	page = rowOfTools.ReplaceAllStringFunc(page, func(row string) string {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		var each []string
		for _, found := range nameOfTool.FindAllStringSubmatch(cells[0], -1) {
			name := found[1]
			n, known := costs[name]
			if !known {
				t.Errorf("docs/tools.md has the tool %s, which does not exist", name)
			}
			if word := effectWords[effects[name]]; !strings.Contains(cells[1], word) {
				t.Errorf("docs/tools.md says of %s that its effect is %q, want %s", name, cells[1], word)
			}
			rows[name]++
			each = append(each, strconv.Itoa(n))
		}
		if len(each) > 0 {
			cells[len(cells)-1] = " " + strings.Join(each, " + ") + " "
		}
		return "|" + strings.Join(cells, "|") + "|"
	})
	for name := range costs {
		if rows[name] != 1 {
			t.Errorf("docs/tools.md has %d rows for %s, want one with its effect, when it is offered, and its limits", rows[name], name)
		}
	}
	return page
}

// withSum is page with what a hello costs, unless it says nearly that: a message has the time,
// which is not always as many tokens.
func withSum(page string, usual, all, many int) string {
	const wobble = 6
	said := numbers.FindAllString(sumOfCosts.FindString(page), -1)
	same := len(said) == 4 // 300 is one of them
	for i, want := range []int{usual, all, 300, many} {
		if !same {
			break
		}
		n, _ := strconv.Atoi(strings.ReplaceAll(said[i], ",", ""))
		same = n-want <= wobble && want-n <= wobble
	}
	if same {
		return page
	}
	text := fmt.Sprintf("<!-- sum -->The first hello of a chat is %s tokens with the tools that need no configuration, and %s with all built-in ones; %d tools of a server add %s.<!-- /sum -->",
		grouped(usual), grouped(all), 300, grouped(many))
	return sumOfCosts.ReplaceAllLiteralString(page, text)
}

// grouped is n with a comma after its thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

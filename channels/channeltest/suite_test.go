package channeltest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"dragoman/channels/channeltest"
)

const flawEnv = "DRAGOMAN_CHANNELTEST_FLAW"

func TestSuitePassesARightChannel(t *testing.T) {
	channeltest.Run(t, func(*testing.T) channeltest.Network { return newNetwork("") })
}

// TestFlawed is run by TestSuiteFindsFlaws in a process of its own, and fails there.
func TestFlawed(t *testing.T) {
	flaw := os.Getenv(flawEnv)
	if flaw == "" {
		t.Skip("only for TestSuiteFindsFlaws")
	}
	channeltest.LosePatience()
	channeltest.Run(t, func(*testing.T) channeltest.Network { return newNetwork(flaw) })
}

func TestSuiteFindsFlaws(t *testing.T) {
	for flaw, where := range map[string]string{
		"ack first":        "receive/refused_before_a_restart",
		"new ids":          "receive/refused_before_a_restart",
		"overtake":         "receive/refused_comes_again_and_is_not_overtaken",
		"public":           "receive/in_order_and_once",
		"leak":             "run/ends_at_once_and_leaves_nothing",
		"stop error":       "run/ends_at_once_and_leaves_nothing",
		"always connected": "run/status",
		"silent":           "send/before_Run_and_after",
		"deaf to refusal":  "send/refused",
		"edit sends":       "show/preview_becomes_the_answer",
		"cuts bytes":       "split/pieces",
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestFlawed$/^"+strings.ReplaceAll(where, "/", "$/^")+"$")
			cmd.Env = append(os.Environ(), flawEnv+"="+flaw)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFlawed/"+where) {
				t.Errorf("the suite did not fail in %s: %v\n%s", where, err, out)
			}
		})
	}
}

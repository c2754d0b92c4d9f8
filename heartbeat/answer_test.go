package heartbeat_test

import (
	"strings"
	"testing"

	"dragoman/heartbeat"
)

func TestSilent(t *testing.T) {
	for _, answer := range []string{
		"", " \n\t", "...", "—", "**", "HEARTBEAT_OK", "heartbeat_ok", "Heartbeat OK", "HEARTBEAT-OK.", "**HEARTBEAT_OK**", "`HEARTBEAT_OK`", "HEARTBEAT\\_OK", "```\nHEARTBEAT_OK\n```",
		"<b>HEARTBEAT_OK", "\"HEARTBEAT_OK\"", "heartbeatok", "HEARTBEAT_OK 👍", "HEARTBEAT_OK - nothing to report.", "Nothing new today.\n\nHEARTBEAT_OK", "HEARTBEAT_OK HEARTBEAT_OK", "\ufeffHEARTBEAT_OK",
		"Alles ruhig. HEARTBEAT_OK",
	} {
		if !heartbeat.Silent(answer) {
			t.Errorf("Silent(%q) = false, want true", answer)
		}
	}
	for _, answer := range []string{
		"Your flight leaves at nine.", "HEARTBEAT_OKAY", "NO_HEARTBEAT_OK_TODAY is what I would say", "ok", "heartbeat", "HEARTBEAT", "👍", "7", "0",
		"HEARTBEAT_OK, but your flight leaves at 9.", "HEARTBEAT_OK https://example.com/", "HEARTBEAT_OK — shall I call the fire brigade?", "HEARTBEAT_OK @alice",
		"HEARTBEAT_OK. The server in the cellar has been down since this morning.", "I checked: HEARTBEAT_OK was my answer before, now the door is open",
		"Everything that you asked me to look at looks the way it should, so HEARTBEAT_OK", strings.Repeat("news ", 3000) + "HEARTBEAT_OK", "正常ではありません", "ｈｅａｒｔｂｅａｔ",
	} {
		if heartbeat.Silent(answer) {
			t.Errorf("Silent(%q) = true, want false", answer)
		}
	}
}

func FuzzSilent(f *testing.F) {
	f.Add("HEARTBEAT_OK.", "nothing")
	f.Add("", "the house is on fire, please call somebody who can help now")
	f.Fuzz(func(t *testing.T, a, b string) {
		heartbeat.Silent(a + b)
		// However it is dressed, a long text is never silence.
		if long := a + strings.Repeat(" something happened", 5) + b; heartbeat.Silent(long) {
			t.Errorf("Silent(%q) = true", long)
		}
	})
}

func TestIsBlank(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "# Heartbeat\n\n## Tasks\n", "<!-- write here\nwhat to check -->\n# Title", "# T\n<!-- open", "- [ ]\n- \n* \n", "---\n# T\n===\n", "#\n###### x\n", "\u200b\r\n",
	} {
		if !heartbeat.IsBlank(text) {
			t.Errorf("IsBlank(%q) = false, want true", text)
		}
	}
	for _, text := range []string{"check the mail", "# T\n- [ ] mail", "#hashtag", "####### seven", "<!-- a --> b", "<!-- a -- b -->c<!-- d -->", "☎", "1."} {
		if heartbeat.IsBlank(text) {
			t.Errorf("IsBlank(%q) = true, want false", text)
		}
	}
}

package heartbeat_test

import (
	"strings"
	"testing"

	"dragoman/heartbeat"
)

// The token alone, in any dress, is silence.
func TestNewsOfSilence(t *testing.T) {
	for _, answer := range []string{
		"", " \n\t", "...", "—", "**", "HEARTBEAT_OK", "heartbeat_ok", "Heartbeat OK", "HEARTBEAT-OK.", "**HEARTBEAT_OK**", "`HEARTBEAT_OK`", "HEARTBEAT\\_OK", "```\nHEARTBEAT_OK\n```",
		"<b>HEARTBEAT_OK", "<b>HEARTBEAT_OK</b>", "<final>HEARTBEAT_OK</final>", "\"HEARTBEAT_OK\"", "heartbeatok", "HEARTBEAT_OK 👍", "HEARTBEAT_OK HEARTBEAT_OK", "\ufeffHEARTBEAT_OK",
		"> HEARTBEAT_OK", "- HEARTBEAT_OK\n", "HEARTBEAT_OK\n\n---\n", "👍", "✅ HEARTBEAT_OK",
		"NO_REPLY", "**NO_REPLY**.", "<final>no_reply</final>", "<b>NO\\_REPLY</b>", "HEARTBEAT_OK\nNO_REPLY", "`NO_REPLY`", "no-reply", "\ufeffNO_REPLY\nNO_REPLY\n",
	} {
		if got := heartbeat.News(answer); got != "" {
			t.Errorf("News(%q) = %q, want nothing", answer, got)
		}
	}
}

// What is beside the token is told without it.
func TestNewsBesideTheToken(t *testing.T) {
	for answer, want := range map[string]string{
		"HEARTBEAT_OK\n\nBackup failed.":                           "Backup failed.",
		"Backup failed.\n\nHEARTBEAT_OK":                           "Backup failed.",
		"**HEARTBEAT_OK** - nothing to report.":                    "nothing to report.",
		"**HEARTBEAT_OK**\n\n**Backup failed.**":                   "**Backup failed.**",
		"Backup failed. HEARTBEAT_OK HEARTBEAT_OK":                 "Backup failed.",
		"Disk full (`HEARTBEAT_OK`)":                               "Disk full",
		"HEARTBEAT_OK 🔥":                                           "🔥",
		"HEARTBEAT_OK: 火事です":                                       "火事です",
		"HEARTBEAT_OK, but your flight leaves at 9.":               "but your flight leaves at 9.",
		"HEARTBEAT_OK https://example.com/":                        "https://example.com/",
		"HEARTBEAT_OK @alice":                                      "@alice",
		"```\nHEARTBEAT_OK\nBackup failed\n```":                    "Backup failed",
		"<final>Backup failed. HEARTBEAT_OK</final>":               "<final>Backup failed.",
		"HEARTBEAT_OK\n- mail: 3 new\n- door: open":                "- mail: 3 new\n- door: open",
		"Your flight leaves at nine.":                              "Your flight leaves at nine.",
		"HEARTBEAT_OKAY":                                           "HEARTBEAT_OKAY",
		"NO_HEARTBEAT_OK_TODAY is what I would say":                "NO_HEARTBEAT_OK_TODAY is what I would say",
		"NO_REPLY\n\nBackup failed.":                               "NO_REPLY\n\nBackup failed.",
		"no_reply@shop.example wrote three times":                  "no_reply@shop.example wrote three times",
		"The sender was NO_REPLY":                                  "The sender was NO_REPLY",
		"No reply from Bob yet.":                                   "No reply from Bob yet.",
		"No reply":                                                 "No reply",
		"ok":                                                       "ok",
		"heartbeat":                                                "heartbeat",
		"7":                                                        "7",
		"🚨":                                                        "🚨",
		"I checked: HEARTBEAT_OK was before, now the door is open": "I checked: HEARTBEAT_OK was before, now the door is open",
		strings.Repeat("news ", 3000) + "HEARTBEAT_OK":             strings.TrimSpace(strings.Repeat("news ", 3000)),
		"ｈｅａｒｔｂｅａｔ":                                                "ｈｅａｒｔｂｅａｔ",
	} {
		if got := heartbeat.News(answer); got != want {
			t.Errorf("News(%.100q) = %.100q, want %.100q", answer, got, want)
		}
	}
}

func FuzzNews(f *testing.F) {
	f.Add("HEARTBEAT_OK.", "nothing")
	f.Add("", "fire")
	f.Fuzz(func(t *testing.T, a, b string) {
		// However it is dressed, words are never silence.
		if got := heartbeat.News(a + " Backup failed " + b); !strings.Contains(got, "Backup failed") {
			t.Errorf("News(%q) = %q", a+" Backup failed "+b, got)
		}
	})
}

func TestIsBlank(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "# Heartbeat\n\n## Tasks\n", "<!-- write here\nwhat to check -->\n# Title", "# T\n<!-- open", "- [ ]\n- \n* \n", "---\n# T\n===\n", "#\n###### x\n", "\u200b\r\n",
		"# HEARTBEAT.md Template\n\n```markdown\n# Keep this file empty\n# Add tasks below\n```\n", "~~~ md\n# a\n~~~", "---\ntitle: Heartbeat\nread_when:\n  - boot\n---\n# Tasks\n", "---\r\nname: x\r\n---\r\n",
	} {
		if !heartbeat.IsBlank(text) {
			t.Errorf("IsBlank(%q) = false, want true", text)
		}
	}
	for _, text := range []string{
		"check the mail", "# T\n- [ ] mail", "#hashtag", "####### seven", "<!-- a --> b", "<!-- a -- b -->c<!-- d -->", "☎", "1.",
		"```sh\ndf -h\n```", "---\ntitle: x\n---\ncheck the mail", "---\ncheck the mail\n---\n", "---\ntitle: x\ncheck the mail",
	} {
		if heartbeat.IsBlank(text) {
			t.Errorf("IsBlank(%q) = true, want false", text)
		}
	}
}

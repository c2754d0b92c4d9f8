package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// said is what the table's conversations are made of, by their language.
var said = map[string][]string{
	"en": {
		"Ada here. I keep bees behind the house, and I want to sell the old hive. What would people pay?",
		"Similar hives were sold for $129 lately. Shall I write an offer?",
		"Yes please, and find me a smoker. Also compare honey prices, I would charge $9 a jar.",
		"There is a smoker for 35 euros. Honey is sold for $8 to $11 a jar, so that is a good price.",
		"The queen is lost. Order a new one from Miller, and we move the hives on Friday. I can't help it, sorry.",
		"I ordered a queen from Miller. Treat the mites with oxalic acid before, and again in March.",
	},
	"de": {
		"Hallo, Jonas hier. Ich plane den Umzug nach Bremen, der Mietvertrag ist unterschrieben. Was fehlt noch?",
		"Eine Umzugsfirma oder ein Transporter. Ein Transporter spart ungefähr 600 Euro.",
		"Dann bitte ein Transporter am 14. Mai. Die Kaution sind 1800 Euro, kann ich sie in Raten zahlen?",
		"Ja, die Kaution darf in drei Raten gezahlt werden. Der Transporter ist gebucht.",
		"Die Küche ist vielleicht zu klein, ich messe am Montag nach. Leider hilft mir der Vermieter nicht.",
		"Ich habe den Vermieter um Rückruf wegen der Küche gebeten.",
	},
	"fr": {
		"Bonjour, c'est Léa. Je prépare un voyage à Lisbonne et il me faut un hôtel.",
		"L'hôtel Avenida coûte 94 euros la nuit et il est près du centre.",
		"Réserve-le. J'ai acheté les billets, mais y a-t-il un vol direct le dimanche ?",
		"Aucun vol direct le dimanche, mais il y en a un samedi matin.",
		"Alors je pars samedi. Pour le train vers Porto, je ne peux pas encore décider.",
		"L'hôtel est réservé. Il reste à réserver le train quand vous voulez.",
	},
	"es": {
		"Hola, soy Marta. Quiero reparar mi bicicleta, la cadena salta y los frenos chirrían.",
		"Lo primero es cambiar la cadena; el taller cobra 45 euros por eso.",
		"Prefiero hacerlo yo misma. ¿Dónde compro repuestos?",
		"En la tienda del barrio, pero no hay repuestos hasta el jueves.",
		"Entonces usaré el autobús. La cadena ya la cambié, lo siento por el taller.",
		"Bien, faltan los frenos. El jueves llegan las zapatas.",
	},
	"ru": {
		"Привет, это Иван. Я готовлюсь к экзамену по химии, помоги мне составить план.",
		"Начните с кислот, потом повторите органику. Билеты с третьего по девятый самые частые.",
		"Билеты с третьего по девятый я выучил. Пробный тест я не сдал, к сожалению.",
		"Тогда повторите органику на выходные и решите тест ещё раз.",
		"Экзамен перенесли на 21 июня, так что время есть. По кислотам вопросов нет.",
		"Отлично. Органика осталась на выходные, а тест решим в понедельник.",
	},
	"zh": {
		"你好，我是小林。我计划开一家咖啡店，房租每月八千元，你觉得贵吗？",
		"这个地段的房租一般在七千到九千元之间，八千元不算贵。",
		"好的。菜单已经定好了，但是还没有选好咖啡机，帮我找一台便宜的。",
		"没有找到便宜的咖啡机，最便宜的也要三万元。也可以租一台。",
		"那就租一台吧，请你写一封邮件问问价格，谢谢你的帮助。",
		"邮件已经写好了，租金大约每月六百元。",
	},
	"ko": {
		"안녕하세요, 민수입니다. 다음 주에 부산으로 출장을 가야 해서 기차표가 필요합니다.",
		"월요일 오전 기차표가 있습니다. 요금은 59800원입니다. 예약할까요?",
		"네, 예약해 주세요. 호텔은 해운대 근처로 찾아 주세요. 도와주셔서 감사합니다.",
		"해운대 근처 호텔은 하룻밤에 12만원입니다. 아침 식사가 포함됩니다.",
		"좋습니다. 회의 자료는 아직 준비하지 못했습니다. 죄송하지만 목록을 만들어 주세요.",
		"회의 자료 목록을 만들었습니다. 발표는 화요일 오후입니다.",
	},
	"ja": {
		"こんにちは、佐藤です。来月の京都旅行を計画しています。旅館を探してください。",
		"駅の近くに一泊二万円の旅館があります。予約しますか。",
		"はい、予約をお願いします。新幹線の切符も必要です。すみません、急いでいます。",
		"旅館は予約済みです。切符は来週から買うことができます。",
		"切符はまだ買っていません。お寺の一覧も作ってください。",
		"お寺の一覧を作りました。清水寺は朝六時に開きます。",
	},
}

// of is a conversation of many messages in one language.
func of(language string) sessions.History {
	h := sessions.History{Generation: "g", FirstSeq: 1}
	for i := range 60 {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		lines := said[language]
		h.Messages = append(h.Messages, sessions.Message{Seq: int64(i + 1), Role: role, Content: lines[i%len(lines)]})
	}
	return h
}

// tableOf reads the lines of a file of texts.
func tableOf(t *testing.T, name string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			lines = append(lines, line)
		}
	}
	if len(lines) < 40 {
		t.Fatalf("%s has %d texts, want 40 at least", name, len(lines))
	}
	return lines
}

// TestCase18TrueSummariesAreBelieved: short ones too, of many messages, in the
// language of the conversation or in another, most of them at once.
func TestCase18TrueSummariesAreBelieved(t *testing.T) {
	lines := tableOf(t, "summaries.txt")
	asked := 0
	for _, line := range lines {
		language, text, _ := strings.Cut(line, " | ")
		m := newScript(t, say(text))
		s, err := newAgent(t, m, agent.Options{Compaction: keeping(8)}).Summarize(t.Context(), of(language), nil)
		if err != nil || s.Text != text {
			t.Errorf("Summarize() = %q, %v, want %q", s.Text, err, text)
		}
		asked += len(m.requests()) - 1
	}
	if asked > len(lines)/5 {
		t.Errorf("%d of %d true summaries were asked for once more, want a fifth at most", asked, len(lines))
	}
	t.Logf("%d true summaries believed, %d of them when the model was asked once more", len(lines), asked)
}

// TestCase18NoSummaryIsBelieved: what is said in place of one is not taken for
// one, in whatever language the conversation is and the refusal.
func TestCase18NoSummaryIsBelieved(t *testing.T) {
	lines := tableOf(t, "no_summaries.txt")
	for _, text := range lines {
		for language := range said {
			s, err := newAgent(t, newScript(t, say(text)), agent.Options{Compaction: keeping(8)}).Summarize(t.Context(), of(language), nil)
			if !errors.Is(err, agent.ErrBadSummary) {
				t.Errorf("in a conversation in %s: Summarize() = %q, %v, want ErrBadSummary", language, s.Text, err)
			}
		}
	}
	t.Logf("%d texts refused in %d conversations", len(lines), len(said))
}

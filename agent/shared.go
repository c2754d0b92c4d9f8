package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/sessions"
)

const (
	// leastShared is how many words a short summary has in common with what it
	// stands for. Refusals mention a topic at most.
	leastShared = 2
	// stemLetters is how much of a word counts: its ending may be another one. A
	// shorter word than leastWord is in every text.
	stemLetters, leastWord = 5, 4
	// mostWords bounds how many words of a conversation are looked at.
	mostWords = 200_000
)

// shares counts the words that say something and that text has in common with
// old or msgs, up to leastShared.
func shares(text, old string, msgs []sessions.Message) int {
	left := make(map[string]bool)
	eachStem(text, func(stem string) bool { left[stem] = true; return true })
	shared, seen := 0, 0
	in := func(stem string) bool {
		if seen++; left[stem] {
			delete(left, stem)
			shared++
		}
		return shared < leastShared && seen < mostWords
	}
	eachStem(old, in)
	for i := range msgs {
		if shared >= leastShared || seen >= mostWords {
			break
		}
		eachStem(msgs[i].Name, in)
		eachStem(msgs[i].Content, in)
		for _, c := range msgs[i].ToolCalls {
			eachStem(c.Name, in)
			eachStem(c.Arguments, in)
		}
	}
	return shared
}

// eachStem calls f with the beginning of each word of text that says something,
// until f returns false: a number, a word that is long enough, two syllables of a
// Korean one, and three letters in a row of a script without spaces.
func eachStem(text string, f func(stem string) bool) {
	common := commonWords()
	for _, w := range words(text) {
		switch runes := []rune(w); {
		case common[w]:
		case unspaced(w):
			for i := range len(runes) - 2 {
				if part := string(runes[i : i+3]); !grammar(part) && !f(part) {
					return
				}
			}
		case unicode.Is(unicode.Hangul, runes[0]) && len(runes) > 1:
			if !f(string(runes[:2])) { // what follows is an ending
				return
			}
		case len(runes) >= leastWord, len(runes) > 1 && unicode.IsNumber(runes[0]):
			if !f(string(runes[:min(len(runes), stemLetters)])) {
				return
			}
		}
	}
}

// unspaced reports whether w is of a script whose words are not told apart.
func unspaced(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// grammar reports whether part is all of the Japanese letters for endings.
func grammar(part string) bool {
	return !strings.ContainsFunc(part, func(r rune) bool { return !unicode.Is(unicode.Hiragana, r) })
}

// commonWords are those of leastWord letters and more that are in every text,
// in greetings, and in refusals.
var commonWords = wordSet(`
	hello hallo bonjour hola olá ciao привет здравствуйте merhaba cześć 你好 您好 こんにちは
	about able again also although always answer anything asked assist because been before being cannot content conversation could does doesn't don't each else even every from give going have
	help here however into just know like made make many message messages more most much need nothing only other over please provide questions request same should some something sorry such
	summarise summarize summary talk talked talking than thank thanks that that's their them then there these they thing things think this those transcript unable unfortunately very want well were what
	when where which while will with without would write your you're
	aber alle alles also auch auf aus beim bitte dabei dann das dass davon dein deine dem den denn der des dich die dies diese diesem dieser dieses dir doch durch eine einem einen einer eines etwas
	ganz gibt habe haben hatte hier hilfe helfen ihnen ihre immer jetzt kann kein keine können leid leider mehr mich mir muss nach nachricht nachrichten nicht nichts noch nur oder schon sehr sein sich sind über und uns unter vom von wann
	warum was weil wenn werden wird wurde wurden zusammenfassung zusammenfassen zwischen
	aider aucun autre aussi avec avoir bien cela cette conversation dans demande désolé elle elles être faire mais même message messages nous parce pour peux plus puis quand quelque rien sans sont tout toute tous très vous votre
	algo ayudar como conmigo conversación cuando desde donde ella ellas ellos esta este esto estos hacer hasta lamento mensajes mucho muy nada nosotros para pero porque puedo resumen sobre solicitud también tiene todo todos una usted
	ajudar aqui com como conversa ela eles essa esse esta este isso mais mensagens mesmo muito não nada para pela pelo pode porque posso quando resumo sobre também tudo uma você
	aiutare alla anche che come con conversazione cosa della delle dello messaggi molto nella non nulla perché più posso quando questa questo richiesta riassunto sono sulla tutti tutto una
	deze door geen heeft hebben helpen hier maar meer niet over voor waar wordt zijn
	были было быть вас ваш весь вместо всех вы для его если есть или как когда который меня могу может мне можно нас него нет ничего она они ответить очень помочь потому при просто разговор сейчас себя сообщения так также там тебя только
	уже хотя чего чтобы этого этой этом этот это эту
	będzie bardzo było jest jestem jako jeśli mogę może nie niestety pomóc prośba przez tego tylko także które który`)

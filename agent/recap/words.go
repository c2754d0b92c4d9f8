package recap

import (
	"strings"
	"sync"
	"unicode"
)

const (
	// stemLetters: only the first letters of a word are compared, because its ending
	// may differ.
	stemLetters = 5
	// Shorter words are ignored, in scripts with capital letters. Names may be
	// shorter than other words.
	minWord, minName = 4, 3
)

// script is how a run of letters is cut into words for comparing. Scripts that
// write no spaces have no words to compare otherwise.
type script int

const (
	between script = iota
	digits
	spaced
	han    // every two neighbouring signs are a word
	hangul // the first two syllables of a word; endings follow
	thai   // words are not separated; every four neighbouring letters are compared
)

// pieceLetters is the length of a word where no spaces separate words.
var pieceLetters = map[script]int{han: 2, hangul: 2, thai: 4}

func scriptOf(r rune) script {
	switch {
	case r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
		return spaced
	case unicode.IsDigit(r):
		return digits
	case unicode.Is(unicode.Hiragana, r), !unicode.IsLetter(r) && !unicode.IsMark(r):
		return between // hiragana are mostly endings
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return thai
	default:
		return spaced
	}
}

// eachWord calls f with the stem of each meaningful word of text, until f returns
// false. named says that it begins with a capital or is a number: such words stay the
// same in another language.
func eachWord(text string, f func(stem string, named bool) bool) {
	runes := []rune(text)
	for more := true; more && len(runes) > 0; {
		k, end := scriptOf(runes[0]), 1
		for end < len(runes) && (scriptOf(runes[end]) == k || k != between && unicode.IsMark(runes[end])) {
			end++
		}
		run := runes[:end]
		runes = runes[end:]
		n := pieceLetters[k]
		switch {
		case k == digits && len(run) > 1:
			more = f(string(run), true)
		case k == spaced:
			if stem, named := stemOf(run); stem != "" {
				more = f(stem, named)
			}
		case k == hangul:
			run = run[:min(n, len(run))]
		}
		for ; n > 0 && more && len(run) >= n; run = run[1:] {
			piece := string(run[:n])
			more = commonWords()[piece] || f(piece, false)
		}
	}
}

// stemOf returns the part of a word that is compared, or "" if the word is too short
// or too common.
func stemOf(run []rune) (stem string, named bool) {
	named = unicode.IsUpper(run[0])
	word := []rune(strings.ToLower(string(run)))
	least := minWord
	if named || !unicode.IsLower(word[0]) { // or the script has no capitals
		least = minName
	}
	if len(word) < least || commonWords()[string(word)] {
		return "", false
	}
	return string(word[:min(len(word), stemLetters)]), named
}

// commonWords are words that occur in texts about anything, so they say nothing about
// the subject. Words shorter than minWord are listed because a capital would make
// them count as names.
var commonWords = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`
the and but yes she her his was are not for you has had can did its our who how why all any one two new now see get let may use they then that this with from have will your what when which would could should
about again also already always another answer anything asked assist assistant because been before being between both cannot chat context conversation could currently detail details discuss discussed dragoman during each either else
even every first following from further future general give given going good great have hello help here however important information into issue item items just keep kind know last later least like likely made main make many message
messages more most much must name need needed needs never next none note nothing number once only open option options other over overall part people person place plan plans please point points possible previous problem progress provide
provided question questions ready really regarding related request requested result results right same second several since some someone something soon start step steps still such summary sure take task tell than thank thanks their
them there these they thing things think those three through time today together told topic transcript under understand until upon used user users using various very wait want wanted wants well were what when where whether which while
with within without work would write yesterday tomorrow
der die das ein und sie ist ich wir aber alle alles als also auch auf aus bei beim bitte dabei damit dann das dass dein deine dem den denn der des dich die dies diese diesem dieser doch durch eine einem einen einer eines etwas ganz gern gibt haben habe hatte heute hier hilfe
ihnen ihre immer jetzt kann kein keine können mehr mich mir möchte muss nach nicht nichts noch nur oder schon sehr sein seine sich sind soll über und uns unter viel vom von wann warum was weil wenn wird werden wie wieder wurde wurden zwischen benutzer
les des une est pas los las una por que con aussi autre avec avez avoir bien bonjour cela cette ceux comme dans depuis donc elle elles encore entre être faire fait faut leur mais merci même nous parce plus pour pourquoi peut quand quel quelle sans sera sont
tout toute tous très vous votre veut utilisateur algo aquí bien como cuando cuál desde donde ella ellos entre esta este esto está estos gracias hace hacer hasta hola más mucho muy nada para pero porque puede puedo qué quiere quiero según sobre solo también
tiene todo todos usted usuario ainda aqui como essa esse isso mais mesmo muito não para pela pelo pode porque quando também tudo você anche che come con cosa della delle dello dopo fare nella non più perché quando questa questo sono sulla tutto
deze door geen heeft hebben hier maar meer niet over voor waar wordt zijn
была было были быть вас весь все всех для его если есть ещё еще или как когда который которая которые меня мне можно надо него нет ничего нужно она они очень потом потому при просто сейчас себя так также там только
уже хорошо хочет чего что чтобы этого этой этом этот это пользователь привет спасибо
на من في على إلى عن أن هذا هذه التي الذي كان مع لكن ثم هل شكرا مستخدم
用户 我们 你们 他们 可以 需要 这个 那个 什么 没有 还有 已经 如果 因为 所以 但是 一个 一下 时间 问题 助手 现在 今天 希望 进行 帮助 以及 使用 不能 不是 就是 是否 谢谢 您好 你好 好的 对话 总结 摘要 利用 使用 必要 質問 回答 情報 会話 要約 今日 明日 場合
있습 없습 도와 죄송 합니`) {
		set[w] = true
	}
	return set
})

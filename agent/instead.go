package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// insteadOf is how an answer begins that is about the task and does not do it,
// by the language: apologies and refusals of whoever writes the summary, what
// they say where they see nothing to summarise, and questions to us. A summary
// begins with what it says; one that is long may begin like this too, and goes on
// with the conversation.
var insteadOf = sync.OnceValue(func() *regexp.Regexp {
	return beginning(
		// English
		`(?:i['’]m|i am|we['’]re|we are) (?:very |so |really |deeply )?(?:sorry|unable|not able|not allowed|afraid)`, `(?:my )?apologies\b`, `sorry(?:[,.!:]| (?:i|we|but|for|about|that|this|can|no)\b)`, `i apologi[sz]e`,
		`i (?:can['’]?t|cannot|can not|couldn['’]t|could not|won['’]t|will not|must decline|do not have|don['’]t have|do not see|don['’]t see)[ .]`,
		`unfortunately,? (?:i|we) `, `as an? (?:ai|large language model|language model)\b`, `(?:there (?:are|is|were|was) )?(?:no|nothing)(?: \w+){0,3} to summari[sz]e`,
		`(?:there (?:are|is|were|was) )?no (?:messages?|conversation|transcript|content|text|input)(?: \w+){0,2} (?:provided|available|found|given|yet|here)`,
		`(?:it|this) (?:looks|seems|appears) (?:like|that) (?:you|there|no|the (?:messages?|transcript|conversation))`,
		`(?:the|this) (?:transcript|conversation|message|request|content) (?:is|appears|seems|was) (?:to be )?(?:empty|blank|missing|not allowed)`,
		`the (?:assistant|model|system|ai) (?:can(?:no|['’])t|(?:is|was) (?:unable|not able))`, `please (?:provide|send|share|paste|give)`, `(?:hello|hi)?\W*(?:how|what) (?:can|may|could|would) (?:i|you) (?:help|assist|do|like)`, `i['’]d be happy to`, `i would be happy to`,
		`(?:sure|certainly|of course|okay|ok|understood)\W+(?:i can|i['’]ll|i will|please|let me|what|how)`,
		// German, Dutch
		`(?:es )?tut mir (?:sehr )?leid`, `(?:entschuldigung|verzeihung)`, `leider (?:kann|konnte|darf|bin|habe|ist es mir|liegen)`+` ?(?:ich|nicht|mir|keine)`,
		`ich (?:kann|darf) (?:das|dies|dabei|diese|ihnen|dir|hier|keine|nicht|leider|damit)`, `ich bin (?:leider )?nicht in der lage`, `als (?:eine? )?(?:ki|sprachmodell)[ ,\-]`,
		`(?:es gibt (?:hier )?)?(?:nichts|keine nachrichten)(?: \pL+){0,2} (?:zum? )?(?:zusammen|vorhanden)`, `keine nachrichten`, `bitte (?:senden?|geben?|gib|teilen?|stellen?) `, `wie kann ich (?:ihnen|dir|helfen)`,
		`het spijt me`, `helaas (?:kan|ben) ik`, `ik kan (?:dit|dat|hier|je|u|niet|geen|daar)`, `als (?:een )?(?:ai|taalmodel)[ ,\-]`, `(?:er (?:zijn|is|valt) )?(?:geen berichten|niets om|niets samen)`,
		// French, Spanish, Portuguese, Italian, Romanian
		`(?:je suis |nous sommes )?(?:vraiment |sincèrement )?désolée?s?[ ,.!]`, `je m['’]excuse`, `je ne (?:peux|suis|dispose|vois)`, `je n['’]ai (?:pas|aucun)`, `malheureusement,? je`,
		`en tant qu(?:e |['’])(?:ia|intelligence|modèle|assistant)`, `(?:il n['’]y a )?(?:rien à résumer|aucun message|pas de messages?)`, `veuillez `, `comment puis-je`,
		`lo (?:siento|lamento)`, `(?:perdón|disculp)`, `(?:lamentablemente|desafortunadamente|por desgracia),? no `, `no (?:puedo|me es posible|estoy en condiciones)`, `no hay (?:nada que resumir|mensajes|ningún mensaje)`,
		`como (?:una? )?(?:ia|inteligencia|inteligência|modelo)[ ,]`, `(?:nada que|nada a|nada para) resumir`, `por favor,? (?:proporcion|env|compart|forne)`, `¿?en qué puedo`,
		`(?:peço )?desculpe`, `(?:sinto|lamento) (?:muito|,|mas)`, `lamento[ ,]`, `infelizmente,? (?:não|eu)`, `não (?:posso|consigo|me é possível|há (?:nada (?:a|para) resumir|mensagens|nenhuma))`, `nenhuma mensagem`,
		`mi (?:di)?spiace`, `spiacente`, `scus(?:a|i|ate)[ ,.!]`, `purtroppo,? non (?:posso|sono|riesco)`, `non (?:posso|sono in grado|riesco)`, `non (?:ci sono messaggi|c['’]è (?:nulla|niente) da)`, `(?:nessun messaggio|nulla da riass|niente da riass)`,
		`come (?:un['’]? ?)?(?:ia|intelligenza|modello)[ ,]`, `(?:îmi|ne) pare rău`, `(?:din păcate,? )?nu pot`, `nu există mesaje`,
		// Scandinavian, Finnish, Hungarian, Turkish
		`(?:tyvärr|desværre|dessverre),? kan (?:jag|jeg)`, `(?:jag|jeg) (?:kan (?:inte|ikke|tyvärr|desværre|dessverre)|är ledsen|er ked|beklagar|beklager)`, `(?:beklager|förlåt|undskyld)`,
		`(?:det finns |der er |det er )?(?:inga|ingen) (?:meddelanden|beskeder|meldinger)`, `valitettavasti en`, `olen pahoillani`, `en voi `, `(?:ei (?:ole )?viestejä|ei mitään)`,
		`sajn(?:álom|os nem)`, `elnézést`, `nem tudok`, `nincs(?:enek)? (?:üzenet|mit)`, `üzgünüm`, `özür dilerim`, `maalesef,? (?:bu|size|yardımcı|bunu)`, `(?:özetlenecek|özetleyecek) `, `bu (?:isteğ|konuda yardım|taleb)`,
		// Slavic, Greek
		`(?:przepraszam|przykro mi)`, `(?:niestety,? )?nie (?:mogę|jestem w stanie)`, `(?:brak wiadomości|nie ma (?:wiadomości|nic do|żadnych))`, `jako (?:sztuczna|model|asystent)`,
		`(?:omlouvám se|je mi líto|bohužel (?:nemohu|vám|s tím)|nemohu|nejsou žádné|žádné zprávy)`, `(?:извините|простите|прошу прощения|мне (?:очень )?жаль)`, `(?:к сожалению,? )?(?:я )?не могу`,
		`как (?:искусственный|языковая|ии)[ ,]`, `(?:нет сообщений|сообщений нет|нечего (?:резюмировать|обобщать|суммировать|подыт))`, `пожалуйста,? (?:предостав|пришли|отправь)`, `чем (?:я )?могу`,
		`(?:вибачте|перепрошую|на жаль,? я|(?:я )?не можу|немає повідомлень)`, `(?:λυπάμαι|συγγνώμη|(?:δυστυχώς,? )?δεν (?:μπορώ|υπάρχουν μηνύματα))`,
		// Chinese, Japanese, Korean, Thai, Vietnamese, Indonesian
		`(?:我)?(?:很|非常)?(?:抱歉|对不起|對不起)`, `(?:我)?(?:无法|無法|不能|没办法|沒辦法)(?:协助|協助|帮|幫|满足|滿足|提供|总结|總結|完成|处理|處理|回答|为|為|对|對|执行|執行)`,
		`作[为為](?:一[个個名])?(?:AI|人工|语言|語言)`, `(?:没有|沒有)(?:任何)?(?:消息|訊息|信息|内容|內容|对话|對話|可)`, `[请請]提供`, `(?:您好|你好)?\W*(?:请问|請問|有什么|有什麼).{0,8}帮`,
		`(?:大変)?申し訳(?:ありません|ございません)`, `(?:すみません|ごめんなさい|恐れ入りますが)`, `.{0,12}お手伝いできません`, `.{0,12}(?:お応え|対応|応じる).{0,6}(?:できません|かねます)`, `(?:要約(?:する|できる)?(?:内容|メッセージ|もの)|メッセージ)[がは](?:ありません|ない)`, `AIとして`,
		`(?:정말 |대단히 )?죄송`, `미안`, `.{0,16}도와드릴 수 없`, `요약할 .{0,6}없`, `메시지가 없`, `AI로서`, `(?:ขออภัย|ขอโทษ|(?:ฉัน|ผม)?ไม่สามารถ|ไม่มีข้อความ)`,
		`(?:tôi )?(?:rất )?xin lỗi`, `tôi không thể`, `không có (?:tin nhắn|gì để)`, `(?:mohon )?maaf`, `saya tidak (?:dapat|bisa)`, `tidak ada (?:pesan|yang)`,
		// Arabic, Persian, Hebrew, Hindi
		`(?:أنا )?(?:آسف|أعتذر|عذر|معذرة)`, `(?:للأسف،? )?لا (?:أستطيع|يمكنني)`, `لا توجد (?:رسائل|أي)`, `مت[اأ]سف`, `ببخشید`, `نمی.?توانم`, `(?:אני )?מצטער`, `(?:אני לא|איני) יכול`, `אין הודעות`, `סליחה`,
		`(?:मुझे |मैं )?(?:क्षमा|खेद|माफ)`, `मैं .{0,30}(?:नहीं|असमर्थ)`, `कोई संदेश नहीं`,
	)
})

// beginning is what any of these expressions begins, in letters of any case and
// behind marks of any kind.
func beginning(expressions ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[^\pL\pN]*(?:` + strings.Join(expressions, "|") + `)`)
}

// emptyWords are those of an answer that only says that there is one, or that
// there is none: nothing else stands in it.
var emptyWords = wordSet(`
	a an and as at be been below above complete completed content continue conversation done empty end finished follows following for from got has have here in insert is it
	message messages my n na new nil no none not nothing noted null of ok okay old placeholder please previous ready right s so sure certainly course alright success successful successfully summarise summarised summarize summarized summarizing
	summary tba tbd text thanks thank that the there this to todo transcript undefined understood unknown updated was will with yes yet you your i it's
	aktualisiert alles das dem den der des die ein eine erledigt ende es fertig gern gespräch gesprächs gespräches gut hier ist ja keine leer nachrichten nein nichts und verstanden von wurde zusammenfassung zusammengefasst
	aucun c'est ci compris conversation d'accord de dessous du est et fait fini la le les mis non oui pas résumé résumée terminé voici vide
	aquí claro conversación del el en entendido está hecho la listo mensajes ninguno nada resumen sí terminado vacío
	aqui certo claro concluído conversa da do está feito não nada nenhum o pronto resumo vazio
	capito certo conversazione della di ecco fatto finito il messaggi nessuno riassunto riepilogo sì vuoto
	gesprek gereed het klaar samenvatting van
	вот всё готово да диалога завершено итог краткое ладно нет ничего обновлено понял понятно пусто разговора резюме сводка содержание хорошо
	gotowe jasne oto podsumowanie rozmowy tak zrobione
	özet tamam tamamlandı işte
	好的 好 完成 已完成 明白 明白了 收到 摘要 总结 總結 以下是摘要 以下是总结 对话摘要 无 無 没有 完了 了解 了解しました 承知しました 承知いたしました わかりました 要約 以下は要約です 完了しました 네 알겠습니다 완료 완료했습니다 요약 없음
	تم حسنا ملخص नहीं ठीक सारांश`)

// wordSet is the words of list. They are only taken apart when they are wanted:
// most programs end without that, and no start waits for it.
func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool)
		for _, w := range words(list) {
			set[w] = true
		}
		return set
	})
}

// words are the words of text in small letters. Of a script without spaces a
// word is what stands between two marks.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
	})
}

// aboutTheTask reports whether text speaks of the summary, or of who writes it,
// and says nothing of the conversation.
func aboutTheTask(text string) bool {
	text = unheaded(text)
	if insteadOf().MatchString(text) {
		return true
	}
	all, empty := words(text), emptyWords()
	return len(all) > 0 && !slices.ContainsFunc(all, func(w string) bool { return !empty[w] })
}

// speaksForItself reports whether text has a word of one who speaks of
// themselves, to us, or about what they were asked for. Summaries tell of others;
// what they quote comes after a mark, and a long one may tell of a task.
func speaksForItself(text string, short bool) bool {
	if i := strings.IndexAny(text, `:：“„«「"`); i > 0 {
		text = text[:i]
	}
	if selfI.MatchString(text) {
		return true
	}
	self := selfWords()
	for _, w := range words(text) {
		if self[w] || unspaced(w) && selfSigns.MatchString(w) {
			return true
		}
		for _, stem := range taskStems {
			if short && strings.HasPrefix(w, stem) {
				return true
			}
		}
	}
	return false
}

// selfWords are I, me, my, you and your, but for those that are another word in
// another language.
var selfWords = wordSet(`
	i'm i’m i've i’ve i'll i’ll i'd i’d me my mine myself you you're you’re your yours we our us assist assisting
	ich mir mich mein meine meinen meiner meinem dir dich dein deine wir uns ik mij mijn uw jij
	j'ai j’ai moi mon vous votre vos nous yo mí tengo puedo temo ti usted mim meu minha meus você tenho posso io mio mia miei ho
	jag jeg mig minun minä én nekem bana benim bunu siz mie
	я мне меня мой мои моим моими моих мы вы вам вас ваш мені мене мої mnie mój moje moimi mogę já mně můj mé vám εγώ μου σας
	أنا لي لك أستطيع אני לי שלי मैं मुझे मेरे आप आपकी 저 저는 제가 제 당신 tôi bạn saya aku`)

// selfI is the English word that others write small.
var selfI = regexp.MustCompile(`(?:^|[^\pL\pN])I(?:[^\pL\pN.]|$)`)

var selfSigns = regexp.MustCompile(`[我您你]|私|ご依頼|ご要望|リクエスト|要約|[总總][结結]|摘要|提供|政策|内容|內容|ฉัน|ผม|คุณ|สรุป`)

var taskStems = strings.Fields(`
	help summar request transcript guideline polic provid clarif declin comply generat violat filter
	hilf helf anfrage zusammenf richtlin verstöß verstoß samenvat verzoek helaas
	aider demande résum règle enfrein désol regret ayud solicit resum ajud desculp permiss aiut richiest riassun
	hjälp hjelp hjælp sammanfatt sammendrag auttaa tiivist segít összefogl yardım özet yapam ajuta rezum
	помо полез запрос резюм правил предостав извин допомо запит pomóc pomoc prośb podsum zasad shrn βοηθ περίλ
	요청 요약 제공 도와 거부 مساعد تلخيص लख़ मदद सारांश giúp tóm bantu ringkas`)

// unheaded is text without the headings that it begins with.
func unheaded(text string) string {
	for line := range strings.Lines(text) {
		if !heading(line) && strings.TrimSpace(line) != "" {
			break
		}
		text = text[len(line):]
	}
	return text
}

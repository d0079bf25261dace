package toolsearch

import (
	"strings"

	"github.com/kljensen/snowball/english"
)

// Words that searchers treat as special: those that say nothing about a tool, and verbs
// that tools use for one another. What was tried with them stands in search_bm25.go.

// stopWords are left out of what is indexed and asked for: function words, and what
// people wrap a request in ("please help me to ..."). "use", "need", "get" and "want" are
// among them because nearly every request and description has them.
var stopWords = wordSet(`a about again all also am an and any are as at be been being both but by can could did
do does doing done down each every few for from get getting had has have having he hello help here hey hi his
how i id if ii ill im in into is it its ive just let like ll may me might more most must my need no nor not now
of off on only or other our out over own please re s same shall she should so some such t than thank thanks that
the their them then there these they this those to too under up us use using ve very want was we were what when
where which who whom why will with would you your don`)

// chineseStopWords are the same for Chinese, as the single characters and pairs of
// characters that Chinese text is cut into.
var chineseStopWords = wordSet(`我 你 他 她 它 们 的 了 是 在 和 与 及 或 也 就 都 而 把 被 让 给 请 帮 想 要 能 会 可 以 这 那
个 些 吗 呢 吧 啊 为 对 从 到 上 下 中 里 有 没 不 再 还 又 很 一
我们 你们 他们 请帮 帮我 我想 想要 需要 我需 要你 你帮 一个 一下 这个 那个 可以 能否 是否 如何 怎么 什么 然后 并且 以及 接着 最后
首先 希望 请问 下我 帮忙 我的 你能 能帮`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// synonyms maps a stemmed word to the others of its groups, stemmed. A group is verbs and
// things that tools of different makers name differently.
var synonyms = synonymsOf(`
get fetch retrieve read show view obtain find lookup
create add new make generate insert
delete remove erase
update edit modify change set
list enumerate show
search find query look lookup
send post
buy purchase order
book reserve reservation
cancel abort
start run launch execute
stop halt terminate
compute calculate determine
convert transform translate
check verify validate
picture image photo
movie film
email mail
weather forecast
flight airline
price cost
location place
document file
`)

func synonymsOf(groups string) map[string][]string {
	others := make(map[string][]string)
	for group := range strings.Lines(groups) {
		words := strings.Fields(group)
		for i := range words {
			words[i] = english.Stem(words[i], true)
		}
		for i, word := range words {
			for j, other := range words {
				if i != j {
					others[word] = append(others[word], other)
				}
			}
		}
	}
	return others
}

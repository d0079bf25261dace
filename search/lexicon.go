package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// Words that searchers treat as special: words that say nothing about a tool, and the words of
// lexicon.txt, which stand for other words. bm25.go tells what was tried with them.
//
// Every line of lexicon.txt was written by hand, from knowledge of the two languages and of
// tools, and not from the queries that a searcher is measured with. A line that begins with "#"
// is a comment, and a line "== name" begins a section:
//
//	== spellings    a word and its abbreviations              repository repo
//	== synonyms     what makers of tools name differently     delete remove erase
//	== thesaurus    a word, and what it may have to do with   homestay lodging rental
//	== chinese      Chinese, a tab, English, best first       天气<tab>weather; forecast
//
// A Chinese word without English says nothing. It is there because its characters would:
// 关于, about, is not 关, to close.

// stopWords are left out of indexes and queries. They are function words, and words that
// people wrap a request in ("please help me to ..."). "use", "need", "get" and "want" are
// among them because nearly every request and description has them.
var stopWords = wordSet(`a about again all also am an and any are as at be been being both but by can could did
do does doing done down each every few for from get getting had has have having he hello help here hey hi his
how i id if ii ill im in into is it its ive just let like ll may me might more most must my need no nor not now
of off on only or other our out over own please re s same shall she should so some such t than thank thanks that
the their them then there these they this those to too under up us use using ve very want was we were what when
where which who whom why will with would you your don`)

// chineseStopWords are the stop words of Chinese, as single characters and pairs of characters,
// since Chinese text is cut into these.
var chineseStopWords = wordSet(`我 你 他 她 它 们 的 了 是 在 和 与 及 或 也 就 都 而 把 被 让 给 请 帮 想 要 能 会 可 以 这 那
个 些 吗 呢 吧 啊 为 对 从 到 上 下 中 里 有 没 不 再 还 又 很 一
我们 你们 他们 请帮 帮我 我想 想要 需要 我需 要你 你帮 一个 一下 这个 那个 可以 能否 是否 如何 怎么 什么 然后 并且 以及 接着 最后
首先 希望 请问 下我 帮忙 我的 你能 能帮`)

// requestWords are stemmed words that are common in requests. They are not stop words, since
// tools have them too, but in a query they count for less.
var requestWords = func() map[string]bool {
	set := make(map[string]bool)
	for word := range wordSet("provide give tell know looking interested information details assist specific able suggest recommend wish sure") {
		set[english.Stem(word, true)] = true
	}
	return set
}()

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

//go:embed lexicon.txt
var lexiconText string

// lexiconSection returns a section of lexicon.txt.
func lexiconSection(name string) string {
	_, text, _ := strings.Cut(lexiconText, "\n== "+name+"\n")
	text, _, _ = strings.Cut(text, "\n== ")
	return text
}

// lexiconLines calls yield with the lines of a section, without its comments and empty lines.
func lexiconLines(section string) func(yield func(line string) bool) {
	return func(yield func(line string) bool) {
		for line := range strings.Lines(lexiconSection(section)) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

// A synonym is a stemmed word that may stand for another word, and its weight if it does.
type synonym struct {
	term   string
	weight float64
}

const (
	synonymWeight  = 0.4 // of a word with about the same meaning
	spellingWeight = 0.6 // of another spelling of the word
	relatedWeight  = 0.2 // of a word of the thesaurus, times the weight of the word itself

	maxRelatedQuery = 20  // terms of a query that the thesaurus is asked for
	maxRelatedTools = 256 // that have a word of the thesaurus, or a sixteenth of all tools
)

// synonyms maps a stemmed word to the other words of its groups, the nearest first.
var synonyms = func() map[string][]synonym {
	all := make(map[string][]synonym)
	addGroups(all, "spellings", spellingWeight)
	addGroups(all, "synonyms", synonymWeight)
	many := english.Stem("many", true) // "how many issues" asks for their count
	for _, count := range []string{"count", "number", "total"} {
		all[many] = append(all[many], synonym{count, synonymWeight})
	}
	return all
}()

func addGroups(all map[string][]synonym, section string, weight float64) {
	for group := range lexiconLines(section) {
		words := strings.Fields(group)
		for i := range words {
			words[i] = english.Stem(words[i], true)
		}
		for i, word := range words {
			for j, other := range words {
				if i != j && word != other {
					all[word] = append(all[word], synonym{other, weight})
				}
			}
		}
	}
}

// thesaurus maps a stemmed word to the words that it may have to do with, the likeliest first.
// It is read at the first query.
var thesaurus = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string)
	stems := make(map[string]string)
	stem := func(word string) string {
		if stems[word] == "" {
			stems[word] = english.Stem(word, true)
		}
		return stems[word]
	}
	for line := range lexiconLines("thesaurus") {
		head := ""
		for word := range strings.FieldsSeq(line) {
			if head == "" {
				head = stem(word)
			} else if word := stem(word); word != head {
				all[head] = append(all[head], word)
			}
		}
	}
	return all
})

// chineseWords are the Chinese words of the lexicon.
type chineseWords struct {
	numbers map[string]int32 // Chinese -> number
	english []string         // by number: of the word's line, or "" for a word that says nothing
	lengths map[pair][]int   // how words begin -> their lengths in bytes, the longest first
}

// A pair is the first two characters of a word, the first in the upper half.
type pair uint64

// chinese is read at the first query in Chinese.
var chinese = sync.OnceValue(func() chineseWords {
	words := chineseWords{numbers: make(map[string]int32), lengths: make(map[pair][]int)}
	for line := range lexiconLines("chinese") {
		word, english, _ := strings.Cut(line, "\t")
		words.numbers[word] = int32(len(words.english))
		words.english = append(words.english, english)
		begins, _ := beginningOf(word)
		if lengths := words.lengths[begins]; !slices.Contains(lengths, len(word)) {
			words.lengths[begins] = append(lengths, len(word))
		}
	}
	for _, lengths := range words.lengths {
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
	}
	return words
})

// beginningOf returns the first characters of a word, and the length of the first.
func beginningOf(word string) (begins pair, length int) {
	first, length := utf8.DecodeRuneInString(word)
	begins = pair(first) << 32
	if length < len(word) {
		second, _ := utf8.DecodeRuneInString(word[length:])
		begins |= pair(second)
	}
	return begins, length
}

// cut returns the length of the longest word that a run of characters begins with, and its
// number. A character that begins no word is a word without a number, which is noTerm.
func (w chineseWords) cut(run string) (length int, number int32) {
	begins, first := beginningOf(run)
	for _, length := range w.lengths[begins] {
		if length <= len(run) {
			if number, known := w.numbers[run[:length]]; known {
				return length, number
			}
		}
	}
	if number, known := w.numbers[run[:first]]; known {
		return first, number
	}
	return first, noTerm
}

// chineseOf maps a stemmed English word to the Chinese words that it stands for, the best
// first. It is read when a catalog is in Chinese and a query in English.
var chineseOf = sync.OnceValue(func() map[string][]string {
	const ranks = 3 // of the English of a line
	all := make(map[string][]string)
	for rank := range ranks {
		for line := range lexiconLines("chinese") {
			word, meanings, _ := strings.Cut(line, "\t")
			if words := strings.Split(meanings, "; "); rank < len(words) && words[rank] != "" && !strings.Contains(words[rank], " ") {
				stem := english.Stem(words[rank], true)
				all[stem] = append(all[stem], word)
			}
		}
	}
	return all
})

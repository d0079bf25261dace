package analysis

import "github.com/eino-toolsearch/toolsearch/internal/naming"

// chineseStopWords are single characters and pairs of characters, since Chinese text is cut into these.
var chineseStopWords = naming.WordSet(`我 你 他 她 它 们 的 了 是 在 和 与 及 或 也 就 都 而 把 被 让 给 请 帮 想 要 能 会 可 以 这 那
个 些 吗 呢 吧 啊 为 对 从 到 上 下 中 里 有 没 不 再 还 又 很 一
我们 你们 他们 请帮 帮我 我想 想要 需要 我需 要你 你帮 一个 一下 这个 那个 可以 能否 是否 如何 怎么 什么 然后 并且 以及 接着 最后
首先 希望 请问 下我 帮忙 我的 你能 能帮`)

// ownTerms are words whose stem is that of a word with another meaning: to park, to import, to rate.
var ownTerms = naming.WordSet(`apartment container conversation customer department direction evening experiment filing important
international marketing objective parking paste production rating several`)

// requestWords are stems of words that are common in requests. Tools have them too, so they are not stop words, but
// they count for less in a query.
var requestWords = naming.WordSet("provid give tell know look interest inform detail assist specif abl suggest recommend wish sure mani like")

// IsRequestWord reports whether a term is common in requests.
func IsRequestWord(term string) bool { return requestWords[term] }

package lexicon_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

// linesOf returns the lines of each section of the lexicon, without its comments.
func linesOf(t *testing.T) map[string][]string {
	t.Helper()
	text := testtools.ReadFile(t, "lexicon.txt")
	sections := map[string][]string{}
	section := ""
	for _, line := range strings.Split(text, "\n") {
		if name, begins := strings.CutPrefix(line, "== "); begins {
			section = name
		} else if line != "" && line[0] != '#' {
			sections[section] = append(sections[section], line)
		}
	}
	return sections
}

// A line has a word and at most three others, spelled so that they become terms.
func TestFormat(t *testing.T) {
	english := regexp.MustCompile(`^[a-z0-9]+( [a-z0-9]+)*$`)
	sections := linesOf(t)
	for _, section := range []string{"spellings", "synonyms", "counts", "amounts", "thesaurus", "meanings"} {
		assert.NotEmpty(t, sections[section], "the section %q", section)
	}
	for _, section := range []string{"spellings", "synonyms"} {
		for _, line := range sections[section] {
			assert.Regexp(t, english, line)
		}
	}
	heads := map[string]bool{}
	for _, line := range sections["thesaurus"] {
		words := strings.Fields(line)
		assert.Regexp(t, english, line)
		assert.Len(t, words, min(4, max(2, len(words))), "%q", line)
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(words))), len(words), "different words in %q", line)
		assert.False(t, heads[words[0]], "a second line for %q", words[0])
		heads[words[0]] = true
	}
	for _, line := range sections["counts"] {
		asking, counting, found := strings.Cut(line, ":")
		assert.True(t, found, "%q has words that ask and words that count", line)
		for _, word := range strings.Fields(asking + counting) {
			z := analysis.New()
			terms := z.Append(nil, word)
			assert.Equal(t, z.Term(word), z.Terms[terms[len(terms)-1]], "%q is one term, or a pair after its characters", word)
		}
	}
	for _, line := range sections["amounts"] {
		assert.Regexp(t, english, line)
	}
	seen := map[string]bool{}
	for _, line := range sections["meanings"] {
		word, meanings, found := strings.Cut(line, "\t")
		assert.False(t, seen[word], "a second line for %q", word)
		seen[word] = true
		assert.False(t, strings.ContainsFunc(word, func(r rune) bool { return !unicode.Is(unicode.Han, r) }), "%q is Chinese", word)
		assert.LessOrEqual(t, utf8.RuneCountInString(word), 8, "characters of %q", word)
		if !found {
			continue
		}
		list := strings.Split(meanings, "; ")
		assert.LessOrEqual(t, len(list), 3, "meanings of %q", word)
		for i, meaning := range list {
			assert.Regexp(t, english, meaning, "%q", line)
			assert.NotContains(t, list[:i], meaning, "%q", line)
		}
	}
}

// opposites are pairs of words that no line of the lexicon may mix up.
const opposites = `
open close, start stop, start end, begin end, create delete, add remove, add delete, insert delete, buy sell,
import export, upload download, encrypt decrypt, encode decode, compress decompress, zip unzip, lock unlock,
enable disable, increase decrease, raise lower, up down, login logout, signin signout, subscribe unsubscribe,
follow unfollow, connect disconnect, attach detach, mount unmount, install uninstall, show hide, pull push,
send receive, borrow lend, lock release, accept reject, approve reject, approve deny, allow deny, allow block,
grant revoke, deposit withdraw, deposit withdrawal, debit credit, income expense, revenue cost, profit loss,
asset liability, arrive depart, arrival departure, arrive leave, checkin checkout, sunrise sunset, first last,
oldest newest, minimum maximum, min max, least most, highest lowest, left right, north south, east west, before after,
past future, yesterday tomorrow, source target, source destination, input output, read write, question answer,
request response, client server, buyer seller, parent child, public private, online offline, success failure,
valid invalid, active inactive, expand collapse, merge split, join leave, enter exit, win lose, hot cold, hire fire,
on off, pause resume, mute unmute, pin unpin, archive unarchive, archive restore, backup restore, delete restore,
delete recover, undo redo, freeze unfreeze, block unblock, ban unban, assign unassign, bind unbind, publish unpublish,
deploy undeploy, increment decrement, ascending descending, asc desc, horizontal vertical, ancient modern,
male female, husband wife, new old, early late, cheap expensive, fast slow, long short, save discard, save delete,
activate deactivate, positive negative, forward backward, forward reverse, next previous, inbound outbound,
incoming outgoing, internal external, local remote, synchronous asynchronous, serialize deserialize,
marshal unmarshal, plus minus, multiply divide, add subtract, numerator denominator, speed slow, day night,
morning evening, summer winter, spring autumn, birth death, teacher student, doctor patient, employer employee,
landlord tenant, lender borrower, sender recipient, sender receiver, winner loser, supply demand, bull bear, bid ask,
pass fail, correct wrong, true false, yes no, full empty, sync unsync, register unregister, load unload, fold unfold,
wrap unwrap, escape unescape, link unlink, mark unmark, like dislike, like unlike, star unstar, select deselect,
check uncheck, suspend resume, stop resume, increase reduce, grow shrink, gain loss, gain lose, inflate deflate,
gather scatter, append prepend, prefix suffix, head tail, top bottom, odd even
`

// No line gives a word the meaning of its opposite.
func TestNoOpposites(t *testing.T) {
	opposite := map[string][]string{}
	for pair := range strings.SplitSeq(opposites, ",") {
		if words := strings.Fields(pair); len(words) == 2 {
			opposite[words[0]] = append(opposite[words[0]], words[1])
			opposite[words[1]] = append(opposite[words[1]], words[0])
		}
	}
	check := func(line string, words []string) {
		for _, word := range words {
			for _, other := range opposite[word] {
				assert.NotContains(t, words, other, "%q has %q and its opposite", line, word)
			}
		}
	}
	sections := linesOf(t)
	for _, section := range []string{"spellings", "synonyms"} {
		for _, line := range sections[section] {
			check(line, strings.Fields(line))
		}
	}
	for _, line := range sections["thesaurus"] {
		words := strings.Fields(line)
		for _, other := range opposite[words[0]] {
			assert.NotContains(t, words, other, "%q has the opposite of its word", line)
		}
	}
	for _, line := range sections["meanings"] {
		_, meanings, _ := strings.Cut(line, "\t")
		check(line, strings.Split(meanings, "; "))
	}
}

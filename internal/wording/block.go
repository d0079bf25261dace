package wording

import "strings"

// A Block is a pair of tags. It finds what stands between them in a text that others also write: a
// message, a summary of messages, a system message that others append to.
type Block struct{ Open, Close string }

// Wrap returns the block with a text, each tag on a line of its own.
func (b Block) Wrap(text string) string { return b.Open + "\n" + text + "\n" + b.Close }

// Frame is how many bytes Wrap adds to a text.
func (b Block) Frame() int { return len(b.Open) + len(b.Close) + 2 }

// Is reports whether a text is nothing but the block.
func (b Block) Is(text string) bool {
	return strings.HasPrefix(text, b.Open) && strings.HasSuffix(strings.TrimSpace(text), b.Close)
}

// In reports whether a text quotes the block.
func (b Block) In(text string) bool {
	_, after, found := strings.Cut(text, b.Open)
	return found && strings.Contains(after, b.Close)
}

// Without removes the blocks that a text quotes, with their bullets if they are in a list. The texts
// on the two sides of a removed block may form a new tag, so Without looks again a few times.
func (b Block) Without(text string) string {
	for range 4 {
		var kept strings.Builder
		for {
			before, quoted, found := strings.Cut(text, b.Open)
			_, after, closed := strings.Cut(quoted, b.Close)
			if !found || !closed {
				break
			}
			kept.WriteString(strings.TrimRight(before, " -"))
			text = strings.TrimPrefix(after, "\n")
		}
		if kept.Len() == 0 {
			return text
		}
		text = kept.String() + text
	}
	return text
}

// Split splits a text that ends in the block, perhaps with later additions, into the text before the
// block and the rest. The end is "" if there is no block. Only a block that Wrap made, at the
// beginning of a line, counts.
func (b Block) Split(text string) (own, end string) {
	at := strings.LastIndex(text, b.Open+"\n")
	if at < 0 || at > 0 && text[at-1] != '\n' {
		return text, ""
	}
	length := strings.Index(text[at:], b.Close)
	if length < 0 {
		return text, ""
	}
	before, behind := strings.TrimSuffix(text[:at], "\n\n"), text[at+length+len(b.Close):]
	if before == "" {
		behind = strings.TrimPrefix(behind, "\n\n")
	}
	return before + behind, text[at:]
}

package toolsearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toollist"
)

// Groups: tools by where they come from, and the names that the model sees of them.

// A Group is the tools of one server, team or skill.
type Group struct {
	// Name is the namespace of all tools of the group, whatever Annotate says. It is required, at
	// most 128 bytes long, and has neither control characters nor a colon. No other group has the
	// same name; names that differ only in case, or in "-" for "_", are the same.
	Name string

	// Description says what the group is for, such as the instructions of an MCP server. The
	// first 2 KiB are read. It is told in the reminder, where the groups share the room fairly,
	// and BM25 finds the group's tools by it. A description that changes takes a new middleware.
	// "" means none. ReminderConfig.Namespaces replaces it in the reminder.
	Description string

	// Tools are tools that do not change. A tool that providers refuse is mended, or left out for
	// its name, and a FailureEvent says so. Nil means none.
	Tools []tool.BaseTool

	// Source adds tools that may change, as Config.Source does. The Sources of all groups are
	// asked at the same time. A run waits for each at most Config.SourceTimeout, and at most
	// 200 ms if it has a good answer already. If a Source fails or is late, its last good answer
	// stays, and the other groups are not affected. Nil means no Source.
	Source func(ctx context.Context) ([]tool.BaseTool, error)

	// Prefix puts the group's name in front of its tools' names: the model sees name__tool, and
	// so do Annotate, Filter, AlwaysLoaded, events and stored histories. The tool itself is
	// called as ever, so a server gets its own name of the tool. It is for servers whose tools'
	// names clash. In the prefix, "_" stands for what providers refuse in a name. A name of more
	// than 64 letters, which providers refuse, is cut and ends in a hash of the whole name. False
	// means that the names stay as they are.
	Prefix bool
}

const (
	// maxPrefixLetters leaves at least half of the 64 letters of a name to the tool.
	maxPrefixLetters = 32
	maxNameLetters   = 64 // of a tool, that every provider takes
	hashLetters      = 8
)

// checkedGroups returns a copy of groups, with their descriptions ready to be told.
func checkedGroups(groups []Group) ([]Group, error) {
	groups = slices.Clone(groups)
	names, prefixes := make(map[string]int), make(map[string]int)
	for i := range groups {
		g := &groups[i]
		fail := func(what string, args ...any) ([]Group, error) {
			return nil, fmt.Errorf("toolsearch: Groups[%d], %q: %s", i, naming.Cut(g.Name, naming.MaxBytes), fmt.Sprintf(what, args...))
		}
		switch {
		case g.Name == "":
			return fail("no Name; set the name of the server, team or skill")
		case len(g.Name) > naming.MaxBytes:
			return fail("a Name of %d bytes; shorten it to %d", len(g.Name), naming.MaxBytes)
		case naming.Shown(g.Name) != g.Name || !utf8.ValidString(g.Name) || strings.Contains(g.Name, ":"):
			return fail("its Name has a colon, an angle bracket, a character that is not visible, or a space at an end; remove it")
		}
		folded := naming.Fold(g.Name)
		if first, taken := names[folded]; taken {
			return fail("Groups[%d], %q, has the same Name; rename one of them, or make one group of both", first, groups[first].Name)
		}
		names[folded] = i
		if g.Prefix {
			prefix := g.prefix()
			if len(prefix) == 0 || len(prefix) > maxPrefixLetters {
				return fail("for Prefix, a Name needs 1 to %d letters and digits from a to z, _ and -; this one has %d; rename it", maxPrefixLetters, len(prefix))
			}
			if first, taken := prefixes[prefix]; taken {
				return fail("Groups[%d], %q, has the same prefix, %s__; rename one of them", first, groups[first].Name, prefix)
			}
			prefixes[prefix] = i
		}
		g.Tools = slices.Clone(g.Tools)
		g.Description = naming.Cut(strings.Join(strings.Fields(naming.OneLine(g.Description, toollist.MaxDescriptionBytes)), " "), toollist.MaxDescriptionBytes)
	}
	return groups, nil
}

// prefix returns the group's name as it stands in front of its tools' names. It has no "__" and
// no "_" at an end. So the first "__" of a name ends its prefix, and names of two groups differ.
func (g *Group) prefix() string {
	letters := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		default:
			return '_'
		}
	}, naming.StripDiacritics(g.Name))
	return strings.Join(strings.FieldsFunc(letters, func(r rune) bool { return r == '_' }), "_")
}

// named returns a tool's definition with the name that the model sees.
func (g *Group) named(info *schema.ToolInfo) *schema.ToolInfo {
	if !g.Prefix {
		return info
	}
	renamed := *info
	renamed.Name = g.prefix() + "__" + info.Name
	if len(renamed.Name) > maxNameLetters {
		hash := sha256.Sum256([]byte(renamed.Name))
		renamed.Name = naming.Cut(renamed.Name, maxNameLetters-1-hashLetters) + "_" + hex.EncodeToString(hash[:])[:hashLetters]
	}
	return &renamed
}

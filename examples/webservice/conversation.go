package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// Conversations: what is stored of them, and where.

// conversation is all that remains of a conversation between two requests.
type conversation struct {
	User     string             `json:"user"`
	Messages []*schema.Message  `json:"messages"`
	Session  toolsearch.Session `json:"session"`
}

// loaded returns the names of the loaded tools, for the page.
func (c *conversation) loaded() []string { return append([]string{}, c.Session.Loaded()...) }

// maxMessages is how many messages of a conversation are kept. The Session has the tools that
// searches in the dropped messages had loaded.
const maxMessages = 200

// keep sets the messages to those that the next run can start from. It drops a call without a
// result, and what follows it, since providers refuse such a call. It drops the first turns of a
// long conversation.
func (c *conversation) keep(messages []*schema.Message, limit int) {
	open, complete := map[string]bool{}, 0
	for i, message := range messages {
		for _, call := range message.ToolCalls {
			open[call.ID] = true
		}
		delete(open, message.ToolCallID)
		if len(open) == 0 {
			complete = i + 1
		}
	}
	messages = messages[:complete]
	for len(messages) > limit {
		next := slices.IndexFunc(messages[1:], func(m *schema.Message) bool { return m.Role == schema.User })
		if next < 0 {
			break // one turn, however long it is
		}
		messages = messages[1+next:]
	}
	c.Messages = messages
}

var errNoConversation = errors.New("there is no such conversation")

// files keeps conversations from one request, and one process, to the next: one JSON file for each. Put a
// database in its place if several processes serve the conversations.
type files string

// ids matches the ids that rand.Text makes. Nothing else becomes the name of a file.
var ids = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func (f files) path(id string) string { return filepath.Join(string(f), id+".json") }

// Load returns errNoConversation if there is none with this id.
func (f files) Load(id string) (*conversation, error) {
	if !ids.MatchString(id) {
		return nil, errNoConversation
	}
	text, err := os.ReadFile(f.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoConversation
	}
	c := &conversation{}
	if err == nil {
		err = json.Unmarshal(text, c)
	}
	return c, err
}

// Save writes a new file and renames it, so that a crash leaves the old file or the new file.
func (f files) Save(id string, c *conversation) error {
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path(id)+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path(id)+".tmp", f.path(id))
}

package metajson_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/metajson"
)

func TestReadRequest(t *testing.T) {
	for arguments, want := range map[string]metajson.Request{
		`{"query":"create issue","max_results":3}`:               {Queries: []string{"create issue"}, Limit: 3},
		`{"query":"a","queries":["a","b"]}`:                      {Queries: []string{"a", "b"}},
		"```json\n{\"q\":\"a\",\"limit\":\"7\"}\n```":            {Queries: []string{"a"}, Limit: 7},
		`{"query":"a","server":" github "}`:                      {Queries: []string{"a"}, Namespace: "github"},
		`create issue`:                                           {Queries: []string{"create issue"}},
		`{"what":"a"}`:                                           {Unreadable: true},
		`{"unknown_tool":"get_wether","suggestions":["a", 1]}`:   {StandIn: &metajson.StandIn{UnknownTool: "get_wether", Suggestions: []string{"a"}}},
		`{"unknown_tool":"get_wether","query":"a search of it"}`: {Queries: []string{"a search of it"}},
	} {
		assert.Equal(t, want, metajson.ReadRequest(arguments, "query", "q"), arguments)
	}
}

// A stand-in is read as it was written.
func TestStandInsSurvive(t *testing.T) {
	s := &metajson.StandIn{MisusedTool: "call_tool", Problem: "<no name>"}
	assert.Equal(t, s, metajson.ReadRequest(s.String(), "query").StandIn)
}

func TestReadDispatch(t *testing.T) {
	for arguments, want := range map[string]metajson.Dispatch{
		`{"name":" add ","arguments":{"a": 1}}`: {Name: "add", Arguments: `{"a": 1}`},
		`{"tool":"add","args":"{\"a\":1}"}`:     {Name: "add", Arguments: `{"a":1}`},
		`{"name":"add"}`:                        {Name: "add", Arguments: "{}"},
		`[1]`:                                   {},
	} {
		assert.Equal(t, want, metajson.ReadDispatch(arguments), arguments)
	}
}

func TestReadNames(t *testing.T) {
	for arguments, want := range map[string][]string{
		`{"tool_names":["a","b"]}`:    {"a", "b"},
		`{"tool_names":"a"}`:          {"a"},
		`{"tools":[{"name":"a"}, 2]}`: {"a", "2"},
		`{}`:                          nil,
	} {
		names, ok := metajson.ReadNames(arguments)
		assert.True(t, ok, arguments)
		assert.Equal(t, want, names, arguments)
	}
	_, ok := metajson.ReadNames(`{"what":"a"}`)
	assert.False(t, ok)
}

// The results of every protocol say what they load and unload.
func TestReadResult(t *testing.T) {
	for text, want := range map[string]string{
		`{"matches":["a","b"]}`:                       "+a +b ",
		`{"matches":[{"name":"a","parameters":{}}]}`:  "+a ",
		"1. a (0.5)\n" + `{"matches":[{"name":"a"}]}`: "+a ",
		`{"selectedTools":["a"]}`:                     "+a ",
		`{"added":["a"],"already_loaded":["b"]}`:      "+a +b ",
		`{"removed":["a"],"not_found":["b"]}`:         "-a ",
		`no JSON`:                                     "",
	} {
		read := ""
		metajson.ReadResult(text, func(name string, unloads bool) {
			sign := "+"
			if unloads {
				sign = "-"
			}
			read += sign + name + " "
		})
		assert.Equal(t, want, read, text)
	}
}

// An answer without matches has an empty list, and only the keys that say something.
func TestAnswers(t *testing.T) {
	assert.JSONEq(t, `{"matches":[],"message":"no tool matches"}`, metajson.Saying("no tool matches").String())
	assert.Equal(t, `{"matches":["a"]}`, metajson.Answer{Matches: []string{"a"}}.String())
}

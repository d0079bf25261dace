package tokens_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/examples/tokens"
)

func TestOf(t *testing.T) {
	bare := &schema.ToolInfo{Name: "ping", Desc: "Pings"}
	weather := &schema.ToolInfo{Name: "weather", Desc: "Tells it", ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"city": {Type: schema.String}})}
	const bareJSON = `{"description":"Pings","name":"ping","parameters":null}`
	const weatherJSON = `{"description":"Tells it","name":"weather","parameters":{"properties":{"city":{"type":"string"}},"type":"object"}}`
	assert.Equal(t, len(bareJSON)/4, tokens.Of(bare))
	assert.Equal(t, len(weatherJSON)/4, tokens.Of(weather))
	assert.Equal(t, len(bareJSON)/4+len(weatherJSON)/4, tokens.Of(bare, weather), "each is rounded down")
	assert.Zero(t, tokens.Of())
}

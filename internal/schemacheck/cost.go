package schemacheck

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The cost of checking arguments against a schema. A state says which schemas apply to one value,
// and how often each applies once references are followed. The name of a property, or an item,
// leads from the state of a value to the state of the value inside. The states of a schema are
// computed once, when it is compiled, and no state may cost more than maxCost for one value. The
// cost of arguments is the cost of their values in their states.
//
// A step is about 0.5 µs and 600 bytes.

const (
	maxCost     = 50_000 // steps of one check
	maxStates   = 4096
	maxWork     = 1 << 15 // of computing the states of a schema; a unit is under 1 µs
	shortList   = 20      // in a list of up to this length, the validator compares every two items
	regexpUnit  = 32      // instructions of a pattern times bytes of a text, in a step
	numberSize  = 8       // a number is compared as a fraction, which takes longer than for any other value
	stringUnit  = 128     // bytes of a string that are compared as fast as a value
	formatUnit  = 32      // bytes of a string that are checked against a format in a step
	copyUnit    = 256     // bytes of a string that are copied in a step
	lookups     = 4       // values of an object that are looked up in a step
	namesInStep = 4
	nameCost    = 3  // of each name that is checked by itself; the validator starts anew for it
	formatCost  = 3  // of each string that is checked against a format
	depthUnit   = 16 // of a value; each problem records its whole path
)

// state is what applies to one value. A nil state means that nothing applies.
type state struct {
	visits    int64 // how many schemas apply, including those with references and conditions
	cost      int64 // of all of them, without the values inside
	match     int64 // instructions of the patterns that a string is matched against
	nameMatch int64 // instructions of the patterns that each name is matched against
	formats   int64 // how many of the schemas demand a format
	unique    int64 // how many of the schemas demand unique items
	named     int64 // how many of the schemas constrain the names
	sorted    int64 // how many of the schemas constrain the unnamed properties, whose names are sorted
	uneval    bool  // the validator records every item and property for each schema

	properties map[string]*state
	other      *state // of unnamed properties
	items      *state
	names      *state // of the names themselves
}

// counts says how often each schema applies.
type counts map[*jsonschema.Schema]int64

// machine computes the states of a schema.
type machine struct {
	states map[string]*state
	height map[*jsonschema.Schema]int
	rank   map[*jsonschema.Schema]int // a schema ranks above those that apply to the same value through it
	work   int
	uneval bool // the validator records every property and item for each schema
}

// statesOf returns the state of the arguments, and the shells of all schemas.
func statesOf(root *jsonschema.Schema) (*state, shells, error) {
	m := &machine{states: make(map[string]*state), height: make(map[*jsonschema.Schema]int), rank: make(map[*jsonschema.Schema]int)}
	st, err := m.state(counts{root: 1})
	all := make(shells, len(m.rank))
	for s := range m.rank {
		// Old drafts would compile the argument as a pattern, in another syntax than the tool's.
		if s.Format != nil && s.Format.Name == "regex" {
			s.Format = nil
		}
		all.add(s)
	}
	return st, all, err
}

// same lists the schemas that apply to a value because s does.
func same(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	for _, dependency := range s.Dependencies {
		if inner, ok := dependency.(*jsonschema.Schema); ok {
			list = append(list, inner)
		}
	}
	return slices.DeleteFunc(list, func(s *jsonschema.Schema) bool { return s == nil })
}

const ranking = -1 // the height of a schema that is being ranked

// order ranks s and all schemas that apply through it. It returns the height of s, the
// length of the longest chain of schemas that apply through one another.
func (m *machine) order(s *jsonschema.Schema) (height int, err error) {
	switch height, known := m.height[s]; {
	case height == ranking:
		return 0, errCircular
	case known:
		return height, nil
	case s.DynamicRef != nil || s.RecursiveRef != nil:
		return 0, errDynamic // their targets are known only during validation
	}
	m.height[s] = ranking
	m.uneval = m.uneval || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	for _, inner := range same(s) {
		below, err := m.order(inner)
		if err != nil {
			return 0, err
		}
		if height = max(height, below+1); height > maxSchemaDepth {
			return 0, errDeepSchema
		}
	}
	m.height[s], m.rank[s] = height, len(m.rank)
	return height, nil
}

// all returns the schemas in c and all schemas that apply through them, which it adds to c.
func (m *machine) all(c counts) ([]*jsonschema.Schema, error) {
	for s := range c {
		if _, err := m.order(s); err != nil {
			return nil, err
		}
	}
	list := slices.Collect(maps.Keys(c))
	reached := make(map[*jsonschema.Schema]bool, len(list))
	for _, s := range list {
		reached[s] = true
	}
	for i := 0; i < len(list); i++ {
		for _, inner := range same(list[i]) {
			m.work++
			if !reached[inner] {
				reached[inner] = true
				list = append(list, inner)
			}
		}
	}
	slices.SortFunc(list, func(a, b *jsonschema.Schema) int { return cmp.Compare(m.rank[b], m.rank[a]) })
	for _, s := range list {
		for _, inner := range same(s) {
			if c[inner] += c[s]; c[inner] > maxCost {
				return nil, errMultiplies
			}
		}
	}
	return list, nil
}

// state returns the state in which the schemas in c apply, or nil if c is empty.
func (m *machine) state(c counts) (*state, error) {
	if len(c) == 0 {
		return nil, nil
	}
	list, err := m.all(c)
	if err != nil {
		return nil, err
	}
	var key []byte
	for _, s := range list {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(m.rank[s])), c[s])
	}
	if st, known := m.states[string(key)]; known {
		return st, nil
	}
	st := &state{}
	m.states[string(key)] = st
	if len(m.states) > maxStates {
		return nil, errMultiplies
	}
	for _, s := range list {
		n := c[s]
		st.visits += n
		st.cost += n * costOf(s)
		st.match += n * sizeOfPattern(s.Pattern)
		for pattern := range s.PatternProperties {
			st.nameMatch += n * sizeOfPattern(pattern)
		}
		if s.Format != nil {
			st.formats += n
		}
		if s.PropertyNames != nil {
			st.named += n
		}
		if _, demands := s.AdditionalProperties.(*jsonschema.Schema); demands {
			st.sorted += n
		}
		if s.UniqueItems {
			st.unique += n
		}
	}
	if st.uneval = m.uneval; st.uneval {
		st.visits *= 4
	}
	if st.cost += st.visits; st.cost > maxCost {
		return nil, errMultiplies
	}
	return st, m.inside(st, list, c)
}

// inside adds the states of the values inside a value.
func (m *machine) inside(st *state, list []*jsonschema.Schema, c counts) (err error) {
	properties, other, items, names := make(map[string]counts), make(counts), make(counts), make(counts)
	add := func(to counts, n int64, inner ...*jsonschema.Schema) {
		for _, s := range inner {
			if m.work++; s != nil {
				to[s] += n
			}
		}
	}
	for _, s := range list {
		for name := range s.Properties {
			m.work++
			properties[name] = make(counts)
		}
	}
	for _, s := range list {
		n := c[s]
		every := slices.AppendSeq([]*jsonschema.Schema{s.UnevaluatedProperties}, maps.Values(s.PatternProperties))
		additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
		add(other, n, append(every, additional)...)
		for name, inner := range s.Properties {
			add(properties[name], n, inner)
		}
		if additional != nil || len(every) > 1 || every[0] != nil {
			for name, to := range properties {
				add(to, n, every...)
				if _, named := s.Properties[name]; !named {
					add(to, n, additional)
				}
			}
		}
		add(names, n, s.PropertyNames)
		add(items, n, s.Items2020, s.Contains, s.UnevaluatedItems)
		add(items, n, s.PrefixItems...)
		for _, more := range [...]any{s.Items, s.AdditionalItems} {
			switch more := more.(type) {
			case *jsonschema.Schema:
				add(items, n, more)
			case []*jsonschema.Schema:
				add(items, n, more...)
			}
		}
		if m.work > maxWork {
			return errMultiplies
		}
	}
	st.properties = make(map[string]*state, len(properties))
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if st.properties[name], err = m.state(properties[name]); err != nil {
			return err
		}
	}
	if st.other, err = m.state(other); err != nil {
		return err
	}
	if st.items, err = m.state(items); err != nil {
		return err
	}
	st.names, err = m.state(names)
	return err
}

// costOf is the cost of a schema for a value, without the visit.
func costOf(s *jsonschema.Schema) int64 {
	names := len(s.Required) + len(s.DependentRequired) + len(s.Dependencies)
	for _, list := range s.DependentRequired {
		names += len(list)
	}
	for _, dependency := range s.Dependencies {
		if list, ok := dependency.([]string); ok {
			names += len(list)
		}
	}
	cost := (names + namesInStep - 1) / namesInStep
	for _, limit := range [...]*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			cost += 2 + (limit.Num().BitLen()+limit.Denom().BitLen())/64
		}
	}
	values := 0
	if s.Enum != nil {
		values = sizeOf(s.Enum.Values)
	}
	if s.Const != nil {
		values += sizeOf(*s.Const)
	}
	cost += values / lookups
	if s.Format != nil {
		cost++
	}
	return int64(cost)
}

func sizeOfPattern(pattern jsonschema.Regexp) int64 {
	if sized, ok := pattern.(*sizedPattern); ok {
		return int64(sized.size)
	}
	return 0
}

// sizeOf is the size of a value for comparisons.
func sizeOf(value any) int {
	size := 1
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			size += len(name)/stringUnit + sizeOf(inner)
		}
	case []any:
		for _, inner := range v {
			size += sizeOf(inner)
		}
	case string:
		size += len(v) / stringUnit
	case json.Number:
		size = numberSize + digits(v)/16
	}
	return size
}

// check counts the cost of arguments.
type check struct{ cost int64 }

// add counts the cost of a value in a state, and returns its size as sizeOf does. It may
// stop once the cost exceeds maxCost.
func (c *check) add(st *state, value any, depth int) (size int) {
	if st == nil {
		st = &state{}
	}
	if c.cost += st.cost * int64(1+depth/depthUnit); c.cost > maxCost {
		return 0
	}
	size = 1
	switch v := value.(type) {
	case map[string]any:
		c.cost += st.visits*int64(len(v))/lookups + (st.named*nameCost+st.sorted)*int64(len(v))
		for name, inner := range v {
			c.cost += st.nameMatch * int64(len(name)+16) / regexpUnit
			if st.names != nil {
				c.add(st.names, name, depth+1)
			}
			next, named := st.properties[name]
			if !named {
				next = st.other
			}
			size += len(name)/stringUnit + c.add(next, inner, depth+1)
		}
	case []any:
		if st.uneval {
			c.cost += st.visits * int64(len(v)) / lookups
		}
		for _, inner := range v {
			size += c.add(st.items, inner, depth+1)
		}
		compared := 3 // each item is hashed, and compared with an item of the same hash
		if len(v) <= shortList {
			compared = len(v)
		}
		c.cost += st.unique * int64(size) * int64(compared) / lookups
	case string:
		size += len(v) / stringUnit
		c.cost += st.visits*int64(len(v))/copyUnit + st.match*int64(len(v)+16)/regexpUnit + st.formats*(formatCost+int64(len(v))/formatUnit)
	case json.Number:
		size = numberSize + digits(v)/16
		c.cost += st.visits * int64(digits(v)+16) / 32 // a schema of integers or with limits parses the number
	}
	return size
}

// sizedPattern is a pattern in a schema, with the number of its instructions.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// patterns compiles the patterns of one schema, each text once: the compiler asks twice.
type patterns struct {
	sizes map[string]int // from the document
	made  map[string]*sizedPattern
}

func newPatterns(d *document) *patterns {
	return &patterns{sizes: d.sizes, made: make(map[string]*sizedPattern, len(d.sizes))}
}

// compile is the jsonschema.RegexpEngine. It fails on patterns that Go's syntax does not
// have, such as look-ahead. A schema with such a pattern cannot be compiled.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if pattern, known := p.made[text]; known {
		return pattern, nil
	}
	size, known := p.sizes[text]
	if !known && text != "" {
		return nil, errSyntax
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p.made[text] = &sizedPattern{pattern, size}
	return p.made[text], nil
}

package search

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/schema"
	"github.com/google/uuid"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The documents of a catalog in an engine, for the searcher Retriever.
//
//	ID        f2c8...-....-5...   DocumentID(name)
//	Content   mcp__github__create_issue mcp github create issue
//	          Opens an issue in a repository
//	          title: Title of the issue
//	          state: Which issues: open, closed
//	          aliases, hint and tags, a line each
//	MetaData  name, namespace, hash; tags and aliases where there are any
//
// A name appears twice, unchanged and as words: the usual analyzers of search engines treat
// create_issue and createIssue as one word, and an embedder reads words better.

// Keys of the MetaData of a tool's document.
const (
	MetaName      = "name"      // string: the tool's name
	MetaNamespace = "namespace" // string, "" for none
	MetaHash      = "hash"      // string: of everything in the document
	MetaTags      = "tags"      // []string, absent if there are none
	MetaAliases   = "aliases"   // []string, absent if there are none
)

const (
	storeBatch      = 100      // documents in one call of the indexer
	maxContentBytes = 32 << 10 // Milvus holds at most 64 KiB in a field, an embedder reads less
)

var documentSpace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/eino-toolsearch/toolsearch"))

// DocumentID is the ID of a tool's document in an engine: a UUID of version 5, which depends only on the name. The
// name itself cannot be the ID, because Qdrant accepts UUIDs only, and others refuse long IDs. In Python it is
//
//	uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/eino-toolsearch/toolsearch"), name)
//
// Give each catalog an index of its own: in one index, tools of the same name share a document.
func DocumentID(name string) string { return uuid.NewSHA1(documentSpace, []byte(name)).String() }

// SchemaDocument is the document of a tool for an engine: DocumentID as ID, the text to
// search as Content, and the Meta keys as MetaData. The content is valid UTF-8 of at most
// 32 KiB. The indexer adds vectors, and the engine adds the score.
func SchemaDocument(doc Document) *schema.Document {
	content := strings.ToValidUTF8(naming.Cut(documentContent(&doc), maxContentBytes), "\uFFFD")
	content = naming.Cut(content, maxContentBytes) // U+FFFD is longer than what it replaces
	sum := sha256.New()
	for _, list := range [][]string{{doc.Name, doc.Namespace, content}, doc.Tags, doc.Aliases} {
		for _, text := range list {
			fmt.Fprintf(sum, "%d:%s", len(text), text)
		}
		fmt.Fprint(sum, ";")
	}
	metadata := map[string]any{
		MetaName: doc.Name, MetaNamespace: doc.Namespace,
		MetaHash: fmt.Sprintf("%x", sum.Sum(nil)),
	}
	if len(doc.Tags) > 0 {
		metadata[MetaTags] = slices.Clone(doc.Tags)
	}
	if len(doc.Aliases) > 0 {
		metadata[MetaAliases] = slices.Clone(doc.Aliases)
	}
	return &schema.Document{ID: DocumentID(doc.Name), Content: content, MetaData: metadata}
}

func documentContent(doc *Document) string {
	var b strings.Builder
	line := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString(text + "\n")
		}
	}
	line(inWords(doc.Name))
	for _, alias := range append(slices.Clip(doc.Aliases), doc.Original) {
		line(inWords(alias))
	}
	line(doc.Hint)
	line(strings.Join(doc.Tags, ", "))
	line(naming.Cut(doc.Description, maxContentBytes))
	for i := range doc.Parameters {
		p := &doc.Parameters[i]
		text := strings.TrimSpace(inWords(p.Name) + ": " + naming.Cut(p.Description, maxContentBytes))
		if len(p.Enum) > 0 {
			text = strings.TrimRight(text, ": ") + ": " + strings.Join(p.Enum, ", ")
		}
		line(strings.Trim(text, ": "))
	}
	return strings.TrimSpace(b.String())
}

// inWords is a name, followed by its words if they differ from the name.
func inWords(name string) string {
	words := strings.Join(naming.Parts(name), " ")
	if words == name {
		return name
	}
	return name + " " + words
}

// StoreDocuments writes the documents of a catalog, made by SchemaDocument, into an engine, 100 in one call of the
// indexer. IDs follow from names, so writing again overwrites instead of adding. The options are for the indexer's
// Store, such as indexer.WithEmbedding.
//
// known maps DocumentID to MetaHash for the documents that the engine holds already: the hashes of an earlier run, or
// read from the engine. A document with the same hash is not written again. Nil means that everything is written.
// hashes is such a map of the catalog's documents that the engine holds now.
//
// Documents of tools that have left the catalog stay in the engine, because Eino's Indexer cannot delete. The searcher
// Retriever drops them, but they take up places in the engine's answers. gone are their IDs in known, sorted.
//
// An empty or repeated name is an error before anything is written. After that, the first batch that fails ends the
// call, and hashes can be the known of another attempt. docs/recipes/engine.md tells more. An
// Indexer of your own can write the catalog when a middleware is built, and then return that of Retriever.
func StoreDocuments(ctx context.Context, ix indexer.Indexer, docs []Document, known map[string]string,
	options ...indexer.Option) (hashes map[string]string, gone []string, err error) {
	if foreign.IsNil(ix) {
		return nil, nil, fmt.Errorf("toolsearch: no indexer to store documents with")
	}
	hashes = make(map[string]string, len(docs))
	changed, gone, err := compare(docs, known, hashes)
	if err != nil {
		return nil, nil, err
	}
	ctx = callbacks.ReuseHandlers(ctx, runInfo(components.ComponentOfIndexer, ix))
	for from := 0; from < len(changed); from += storeBatch {
		if err := ctx.Err(); err != nil {
			return hashes, gone, err
		}
		batch := changed[from:min(from+storeBatch, len(changed))]
		documents := make([]*schema.Document, len(batch))
		written := make(map[string]string, len(batch)) // filled before the indexer can change the documents
		for i, doc := range batch {
			documents[i] = SchemaDocument(docs[doc])
			written[documents[i].ID], _ = documents[i].MetaData[MetaHash].(string)
		}
		ids, err := foreign.Guard(func() ([]string, error) { return ix.Store(ctx, documents, options...) })
		if err == nil && len(ids) > 0 && len(ids) < len(batch) {
			err = fmt.Errorf("the indexer has stored %d of %d", len(ids), len(batch))
		}
		if err != nil {
			return hashes, gone, fmt.Errorf("toolsearch: storing documents %d to %d of %d: %w", from+1, from+len(batch), len(changed), err)
		}
		maps.Copy(hashes, written)
	}
	return hashes, gone, nil
}

// compare finds the documents to write, by number, and adds the hashes of the others.
func compare(docs []Document, known, hashes map[string]string) (changed []int, gone []string, err error) {
	first := make(map[string]int, len(docs))
	for i := range docs {
		if docs[i].Name == "" {
			return nil, nil, fmt.Errorf("toolsearch: document %d: empty name", i)
		}
		id := DocumentID(docs[i].Name)
		if before, repeated := first[id]; repeated {
			return nil, nil, fmt.Errorf("toolsearch: documents %d and %d are both named %q", before, i, docs[i].Name)
		}
		first[id] = i
		if hash, isKnown := known[id]; isKnown && SchemaDocument(docs[i]).MetaData[MetaHash] == hash {
			hashes[id] = hash
		} else {
			changed = append(changed, i)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if _, there := first[id]; !there {
			gone = append(gone, id)
		}
	}
	return changed, gone, nil
}

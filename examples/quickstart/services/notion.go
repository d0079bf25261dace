package services

// Parameters of several tools.
var (
	thePageId = req("page_id", "Id of the page")
)

// notion has the tools of a wiki.
var notion = service("notion",
	fn("search_pages", "Search the team wiki for pages and databases by title or content.",
		req("query", "Words to look for"), opt("kind", "What to search for", oneOf("page", "database", "any"), or("any")),
		returns(`"results": [{"id": "pg-301", "title": "On-call handbook"}, {"id": "db-12", "title": "Meeting notes"}]`)),
	fn("get_page", "Read a wiki page's content as Markdown, with its properties.", thePageId),
	fn("create_page", "Write a new page under another page or as a row of a database.",
		req("parent_id", "Page or database to create it in"), req("title", "Title of the page"),
		opt("content", "Text of the page, in Markdown"),
		opt("properties", "Values of the database's columns, by name", object())),
	fn("append_to_page", "Add text to the end of an existing page, leaving the rest as it is.", thePageId,
		req("content", "Text to add, in Markdown")),
	fn("update_page_properties", "Change a page's title or the values in its database columns, such as status or due date.",
		thePageId, req("properties", "New values, by property name", object())),
	fn("move_page", "Move a page, along with its subpages, to another place in the wiki.", thePageId,
		req("new_parent_id", "Page or database to move it under")),
	fn("archive_page", "Remove a page from the wiki by archiving it. It can be restored.", thePageId),
	fn("query_database", "List the rows of a wiki database that match a filter, in a chosen order.",
		req("database_id", "Id of the database"), opt("filter", "Values the columns must have, by name", object()),
		opt("sort_by", "Column to sort by"),
		opt("direction", "Direction of the sort", oneOf("ascending", "descending"), or("ascending")),
		returns(`"rows": [
			{"page_id": "pg-410", "Name": "Launch review", "Status": "Planned"}, {"page_id": "pg-402", "Name": "Retro", "Status": "Done"}]`)),
	fn("create_database", "Set up a new database (a table of pages) with the columns you name.",
		req("parent_id", "Page to create it in"), req("title", "Name of the database"),
		req("columns", "Columns of the table", list(object(
			req("name", "Heading of the column"),
			req("type", "What the column holds", oneOf("text", "number", "date", "select", "person", "checkbox")))))),
	fn("comment_on_page", "Leave a comment on a page for its authors and readers.", thePageId,
		req("text", "Text of the comment")),
)

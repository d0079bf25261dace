package services

// drive has the tools of a store of documents.
var drive = service("drive",
	fn("search_files", "Find documents, spreadsheets and other files in the shared drive by name or content.",
		req("query", "Words in the name or text of the file"),
		opt("type", "Kind of file", oneOf("document", "spreadsheet", "presentation", "pdf", "folder", "any"), or("any")),
		opt("limit", "Most files to return", integer, or(20)),
		returns(`"files": [
			{"id": "f-71", "name": "Budget 2025", "owner": "priya"}, {"id": "f-64", "name": "Budget memo", "owner": "jonas"}]`)),
	fn("read_document", "Get the text of a document or presentation from the drive.", req("file_id", "Id of the file"),
		opt("format", "Form of the text", oneOf("markdown", "plain", "html"), or("markdown"))),
	fn("create_document", "Create a text document in the drive from Markdown.", req("name", "Name of the document"),
		req("content", "Text of the document, in Markdown"), opt("folder_id", "Folder to put it in", or("root"))),
	fn("read_sheet", "Read the cells of a range in a spreadsheet.", req("file_id", "Id of the spreadsheet"),
		req("range", "Cells to read in A1 notation, such as Costs!A1:C10"),
		returns(`"values": [["Item", "Planned", "Actual"], ["Travel", 12000, 12480]]`)),
	fn("append_sheet_rows", "Add rows below the last filled row of a spreadsheet.",
		req("file_id", "Id of the spreadsheet"), req("sheet", "Name of the sheet (tab)"),
		req("rows", "Rows to add, each a list of cell texts", list(list()))),
	fn("create_folder", "Make a new folder in the drive, inside another folder if wanted.",
		req("name", "Name of the folder"), opt("parent_id", "Folder to make it in", or("root"))),
	fn("move_file", "Move a file or folder of the drive to a different folder.",
		req("file_id", "Id of the file or folder"), req("folder_id", "Folder to move it to")),
	fn("share_file", "Give somebody access to a file or folder, to view, comment on or edit it.",
		req("file_id", "Id of the file or folder"), req("email", "Address of the person or group"),
		opt("role", "What they may do", oneOf("viewer", "commenter", "editor"), or("viewer")),
		opt("notify", "Send them an e-mail about it", boolean, or(true))),
)

package services

// Parameters of several tools.
var (
	theBucket = req("bucket", "Name of the bucket")
)

// s3 has the tools of an object store.
var s3 = service("s3",
	fn("list_buckets", "List the object storage buckets of the account with their regions.",
		returns(`{"buckets": [{"name": "acme-backups", "region": "eu-north-1"}, {"name": "acme-assets", "region": "us-east-1"}]}`)),
	fn("create_bucket", "Create a bucket for storing objects in the cloud.",
		req("bucket", "Name, unique across the whole service"),
		opt("region", "Region to keep the data in", or("us-east-1")),
		opt("versioning", "Keep old versions of overwritten objects", boolean, or(false))),
	fn("list_objects", "List the objects in a bucket, optionally only below a prefix, with size and age.", theBucket,
		opt("prefix", "Only keys that begin with this"), opt("limit", "Most keys to return", integer, or(100)),
		returns(`"objects": [
			{"key": "2025/05/report.csv", "size": 20480}, {"key": "2025/06/report.csv", "size": 21504}], "truncated": false`)),
	fn("get_object", "Download the content of an object from a bucket.", theBucket, req("key", "Key of the object"),
		opt("version_id", "Version to fetch; leave out for the latest")),
	fn("put_object", "Upload content to a bucket under a key, replacing what was there.", theBucket,
		req("key", "Key to store it under"), req("content", "Content of the object"),
		opt("content_type", "MIME type", or("text/plain")),
		opt("storage_class", "How it is kept and billed", oneOf("standard", "infrequent", "archive"), or("standard"))),
	fn("copy_object", "Copy an object to another key or bucket without downloading it.",
		req("source_bucket", "Bucket to copy from"), req("source_key", "Key to copy from"),
		req("bucket", "Bucket to copy to"), req("key", "Key to copy to")),
	fn("delete_objects", "Delete one or more objects from a bucket.", theBucket,
		req("keys", "Keys of the objects to delete", list()),
		returns(`{"bucket": "{bucket}", "deleted": "{keys}", "errors": []}`)),
	fn("presign_url", "Make a temporary link with which anyone can download or upload an object without credentials.",
		theBucket, req("key", "Key of the object"),
		opt("method", "What the link allows", oneOf("download", "upload"), or("download")),
		opt("expires_seconds", "How long the link works, in seconds", integer, or(3600))),
	fn("set_lifecycle_rule", "Have objects of a bucket moved to cheaper storage or deleted when they reach an age.",
		theBucket, req("action", "What happens to them", oneOf("expire", "archive")),
		req("after_days", "Age in days at which it happens", integer), opt("prefix", "Only keys that begin with this")),
)

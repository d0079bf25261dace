module github.com/eino-toolsearch/toolsearch/nativetest

go 1.24

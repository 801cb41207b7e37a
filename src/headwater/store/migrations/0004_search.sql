-- Search: a document for each dataset and job, and the words they know, so that a misspelt one can be mended. Both are made from the other
-- tables by store/search.py, in the transaction that changes these. Index entries are made at once: a pending list would stall whoever fills it.

-- `words` holds lexemes that begin with a letter for where the word stands (store/search.py lists them). `source` says from what it was made.
create table search_documents (
  id        uuid primary key,
  type      text     not null,
  namespace text     not null,
  name      text     not null,
  tags      text[]   not null,
  owners    text[]   not null,
  source    uuid     not null,
  words     tsvector not null
);
create index search_documents_by_words on search_documents using gin (words) with (fastupdate = off);

-- Every word of three or more letters in some document. `near`: the word, and the word without each of its characters.
create table search_words (
  word text collate "C" primary key,
  near text[] not null
);
create index search_words_near on search_words using gin (near) with (fastupdate = off);
create index search_words_alike on search_words using gin (word gin_trgm_ops) with (fastupdate = off);

-- What was said of a dataset's columns stands behind its own name.
create index annotations_by_place on annotations (target text_pattern_ops);

-- What a name ends with: people say the end of it.
create index datasets_by_ending on datasets (reverse(right(name, 200)) text_pattern_ops);
create index jobs_by_ending on jobs (reverse(right(name, 200)) text_pattern_ops);

-- Documents are made by a rebuild.
update server_state set rebuild_needed = rebuild_needed or exists (select 1 from events);

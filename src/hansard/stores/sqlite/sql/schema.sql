-- The tables as they are today: what all the versions come to, one after the other.

CREATE TABLE schema_version (
    version INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL
);

-- One without a name was deleted, but forks that live share what it keeps. A fork parted from its
-- parent where entry `parting` would be; it keeps what is from there on.
CREATE TABLE conversation (
    number INTEGER PRIMARY KEY,
    name TEXT UNIQUE,
    incarnation TEXT NOT NULL,
    parent INTEGER REFERENCES conversation (number),
    parting INTEGER,
    title TEXT NOT NULL DEFAULT '',
    user TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '[]'
);

CREATE INDEX conversation_by_parent ON conversation (parent) WHERE parent IS NOT NULL;

CREATE INDEX conversation_by_user ON conversation (user, name) WHERE name IS NOT NULL;

-- The id is the conversation's number, shifted left by 32 bits, and the page's `next`. The last page
-- of a conversation also says where that stands, who has its lease, and from which page on pages are
-- not merged yet: so one row is all that an append writes. A fork begins with a page of no entries.
CREATE TABLE page (
    id INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    fence INTEGER,
    owner TEXT,
    until_s REAL,
    run_first INTEGER,
    run_size INTEGER,
    flags INTEGER NOT NULL,  -- 1 starts, 2 alone, 4 head, meta and body packed in meta, 8 cut
    head BLOB,
    meta BLOB NOT NULL,
    body BLOB NOT NULL
);

-- Where turns began whose ids callers chose.
CREATE TABLE turn (
    number INTEGER NOT NULL,
    digest BLOB NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (number, digest, seq)
) WITHOUT ROWID;

-- What was cut out of pages, each once, and which pages it is to be put back into.
CREATE TABLE body (
    digest BLOB PRIMARY KEY,
    content BLOB NOT NULL
);

CREATE TABLE reference (
    page INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (page, digest)
) WITHOUT ROWID;

CREATE INDEX reference_by_digest ON reference (digest);

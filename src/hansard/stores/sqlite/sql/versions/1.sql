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

CREATE TABLE page (
    id INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    fence INTEGER,
    owner TEXT,
    until_s REAL,
    run_first INTEGER,
    run_size INTEGER,
    flags INTEGER NOT NULL,
    head BLOB,
    meta BLOB NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE turn (
    number INTEGER NOT NULL,
    digest BLOB NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (number, digest, seq)
) WITHOUT ROWID;

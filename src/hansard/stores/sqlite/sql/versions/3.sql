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

-- The tables as they are today: what all the versions come to, one after the other.

CREATE TABLE hansard_schema_version (
    version integer PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Where each conversation stands, and who has its lease. One without a name was deleted, but forks
-- that live share what it keeps. A fork parted from its parent where entry `parting` would be; it
-- keeps what is from there on. Room is left in each block for rows to be changed where they are.
CREATE TABLE hansard_conversation (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" UNIQUE,
    incarnation text NOT NULL,
    parent bigint REFERENCES hansard_conversation (number),
    parting bigint,
    seq bigint NOT NULL,
    head bytea NOT NULL,
    spans int8multirange NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    owner text NOT NULL DEFAULT '',
    until_s double precision NOT NULL DEFAULT '-infinity',
    run_first bigint NOT NULL,
    run_size bigint NOT NULL,
    title text NOT NULL DEFAULT '',
    user_name text NOT NULL DEFAULT '',
    tags text[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

CREATE INDEX hansard_conversation_by_parent ON hansard_conversation (parent)
WHERE parent IS NOT NULL;

CREATE INDEX hansard_conversation_by_user ON hansard_conversation (user_name, name)
WHERE name IS NOT NULL;

CREATE TABLE hansard_page (
    number bigint NOT NULL,
    next bigint NOT NULL,
    first bigint NOT NULL,
    flags smallint NOT NULL,  -- 1 starts, 2 alone, 8 cut
    meta bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (number, next)
);

-- Not compressed: it takes the server longer than it saves.
ALTER TABLE hansard_page ALTER COLUMN meta SET STORAGE EXTERNAL;

ALTER TABLE hansard_page ALTER COLUMN body SET STORAGE EXTERNAL;

-- Where turns began whose ids callers chose.
CREATE TABLE hansard_turn (
    number bigint NOT NULL,
    digest bytea NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (number, digest, seq)
);

-- What was cut out of pages, each once, and which pages it is to be put back into.
CREATE TABLE hansard_body (
    digest bytea PRIMARY KEY,
    content bytea NOT NULL
);

ALTER TABLE hansard_body ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE hansard_reference (
    number bigint NOT NULL,
    next bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (number, next, digest)
);

CREATE INDEX hansard_reference_by_digest ON hansard_reference (digest);

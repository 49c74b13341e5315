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

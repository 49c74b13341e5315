-- name: last
-- The last page of a conversation is the last one before the pages of the next number.
SELECT number, incarnation, parent, parting, page.id, page.first, fence, owner, until_s,
    run_first, run_size
FROM conversation JOIN page ON page.id = (
    SELECT id FROM page WHERE id < (number + 1) << 32 ORDER BY id DESC LIMIT 1
)
WHERE name = ?;

-- name: head
SELECT flags, head, meta, incarnation
FROM conversation JOIN page ON page.id = (
    SELECT id FROM page WHERE id < (number + 1) << 32 ORDER BY id DESC LIMIT 1
)
WHERE name = ?;

-- name: head_at
SELECT flags, head, meta FROM page WHERE id = ?;

-- name: ancestor
SELECT number, parent, parting FROM conversation WHERE number = ?;

-- name: create
INSERT INTO conversation (name, incarnation, parent, parting) VALUES (?, ?, ?, ?) RETURNING number;

-- name: append
INSERT INTO page (
    id, first, fence, owner, until_s, run_first, run_size, flags, head, meta, body
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: pages
SELECT first, id & 0xFFFFFFFF, flags, meta, body FROM page
WHERE id > ? AND id < ? AND first < ? ORDER BY id;

-- name: page_after
SELECT first, id & 0xFFFFFFFF, flags, meta, body FROM page WHERE id > ? AND id < ?
ORDER BY id LIMIT 1;

-- name: keep_body
INSERT OR IGNORE INTO body (digest, content) VALUES (?, ?);

-- name: refer
INSERT INTO reference (page, digest) VALUES (?, ?);

-- name: bodies_of
SELECT digest, content FROM reference LEFT JOIN body USING (digest) WHERE page = ?;

-- name: digests
SELECT DISTINCT digest FROM reference WHERE page > ? AND page <= ?;

-- name: refer_merged
UPDATE OR REPLACE reference SET page = ? WHERE page > ? AND page <= ?;

-- name: remove
DELETE FROM page WHERE id > ? AND id <= ?;

-- name: merged
INSERT INTO page (id, first, flags, meta, body) VALUES (?, ?, ?, ?, ?);

-- name: lease
UPDATE page SET fence = ?, owner = ?, until_s = ? WHERE id = ?;

-- name: began
INSERT OR IGNORE INTO turn (number, digest, seq) VALUES (?, ?, ?);

-- name: known
SELECT max(seq) FROM turn WHERE number = ? AND digest = ? AND seq < ?;

-- name: describe
UPDATE conversation SET title = ?, user = ?, tags = ? WHERE name = ?;

-- name: list
SELECT name, id & 0xFFFFFFFF, incarnation, title, user, tags
FROM conversation JOIN page ON page.id = (
    SELECT id FROM page WHERE id < (number + 1) << 32 ORDER BY id DESC LIMIT 1
)
WHERE name >= :prefix AND name > :after ORDER BY name;

-- name: list_of_user
SELECT name, id & 0xFFFFFFFF, incarnation, title, user, tags
FROM conversation JOIN page ON page.id = (
    SELECT id FROM page WHERE id < (number + 1) << 32 ORDER BY id DESC LIMIT 1
)
WHERE user = :user AND name >= :prefix AND name > :after ORDER BY name;

-- name: numbered
SELECT number FROM conversation WHERE name = ?;

-- name: forget
UPDATE conversation SET name = NULL, title = '', user = '', tags = '[]' WHERE number = ?;

-- name: reach
-- Up to where forks share what a conversation keeps, if its name is gone.
SELECT parent, (SELECT max(parting) FROM conversation WHERE parent = :number)
FROM conversation WHERE number = :number AND name IS NULL;

-- name: prune_pages
DELETE FROM page WHERE id >= ? AND id < ? AND first >= ?;

-- name: release
-- What was referred to by pages that are gone.
DELETE FROM reference WHERE page >= ? AND page < ?
    AND NOT EXISTS (SELECT 1 FROM page WHERE id = reference.page)
RETURNING digest;

-- name: reclaim
DELETE FROM body WHERE digest = :digest
    AND NOT EXISTS (SELECT 1 FROM reference WHERE digest = :digest);

-- name: kept
SELECT count(*), coalesce(sum(length(content)), 0) FROM body;

-- name: prune_turns
DELETE FROM turn WHERE number = ? AND seq >= ?;

-- name: drop
DELETE FROM conversation WHERE number = ?;

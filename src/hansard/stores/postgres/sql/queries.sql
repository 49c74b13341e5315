-- name: begin
BEGIN;

-- name: commit
COMMIT;

-- name: lasting
SELECT set_config('synchronous_commit', %s, true);

-- name: settings
SELECT current_setting('fsync'), current_setting('synchronous_commit');

-- name: has_versions
SELECT to_regclass('hansard_schema_version') IS NOT NULL;

-- name: lock_versions
-- Any number does that nobody else has for a lock.
SELECT pg_advisory_xact_lock(7526472301982739);

-- name: make_versions
-- To look first whether it is there would be in vain: the session may remember that it was not.
CREATE TABLE IF NOT EXISTS hansard_schema_version (
    version integer PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- name: version
SELECT coalesce(max(version), 0) FROM hansard_schema_version;

-- name: applied
INSERT INTO hansard_schema_version (version) VALUES (%s);

-- name: clock
SELECT extract(epoch FROM clock_timestamp())::double precision;

-- name: append
-- All of a plain append in one go: nothing, where it is not as plain as that. The lease is left
-- alone, or taken, held on to, or let go of.
WITH moved AS (
    UPDATE hansard_conversation SET
        seq = %(next)s,
        head = %(head)s,
        spans = %(spans)s::int8multirange,
        run_size = run_size + %(size)s,
        fence = CASE WHEN %(hold)s::text = 'take' THEN fence + 1 ELSE fence END,
        owner = CASE %(hold)s::text WHEN 'none' THEN owner WHEN 'release' THEN '' ELSE %(owner)s::text END,
        until_s = CASE %(hold)s::text WHEN 'none' THEN until_s WHEN 'release' THEN '-infinity'
            ELSE extract(epoch FROM clock_timestamp())::double precision + %(ttl)s END
    WHERE name = %(name)s AND incarnation = %(incarnation)s AND seq = %(first)s
        AND run_size + %(size)s < %(run_max)s
        AND CASE %(hold)s::text
            WHEN 'none' THEN true
            WHEN 'take' THEN owner = %(owner)s
                OR until_s <= extract(epoch FROM clock_timestamp())::double precision
            ELSE fence = %(fence)s AND owner = %(owner)s
                AND until_s > extract(epoch FROM clock_timestamp())::double precision
        END
    RETURNING number, fence, owner, until_s
), put AS (
    INSERT INTO hansard_page (number, next, first, flags, meta, body)
    SELECT number, %(next)s, %(first)s, %(flags)s, %(meta)s, %(body)s FROM moved
), began AS (
    INSERT INTO hansard_turn (number, digest, seq)
    SELECT number, %(digest)s::bytea, %(first)s FROM moved WHERE %(digest)s::bytea IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT fence, owner, until_s, set_config('synchronous_commit', %(lasting)s, true) FROM moved;

-- name: locked
SELECT number, incarnation, parent, parting, seq, fence, owner, until_s, run_first, run_size
FROM hansard_conversation WHERE name = %s FOR NO KEY UPDATE;

-- name: shared
SELECT number, incarnation, parent, parting, seq, fence, owner, until_s, run_first, run_size
FROM hansard_conversation WHERE name = %s FOR KEY SHARE;

-- name: page_after
SELECT first, next, flags, meta, body FROM hansard_page
WHERE number = %s AND next > %s ORDER BY next LIMIT 1;

-- name: run
SELECT first, next, flags, meta, body FROM hansard_page
WHERE number = %s AND next > %s ORDER BY next;

-- name: remove
DELETE FROM hansard_page WHERE number = %s AND next > %s;

-- name: page
INSERT INTO hansard_page (number, next, first, flags, meta, body)
VALUES (%s, %s, %s, %s, %s, %s);

-- name: share_bodies
-- Whoever is to refer to a body has it first, so that nobody can take it away.
SELECT digest FROM hansard_body WHERE digest = ANY(%s::bytea[]) ORDER BY digest FOR KEY SHARE;

-- name: keep_body
INSERT INTO hansard_body (digest, content) VALUES (%s, %s) ON CONFLICT DO NOTHING;

-- name: refer
INSERT INTO hansard_reference (number, next, digest)
SELECT %s::bigint, %s::bigint, unnest(%s::bytea[]);

-- name: digests
SELECT DISTINCT digest FROM hansard_reference WHERE number = %s AND next > %s;

-- name: refer_no_more
DELETE FROM hansard_reference WHERE number = %s AND next > %s;

-- name: take_bodies
SELECT digest FROM hansard_body WHERE digest = ANY(%s::bytea[]) ORDER BY digest FOR UPDATE;

-- name: reclaim
-- What others refer to by now is seen by a statement that begins when all bodies are locked.
DELETE FROM hansard_body AS body WHERE digest = ANY(%s::bytea[]) AND NOT EXISTS (
    SELECT 1 FROM hansard_reference AS each WHERE each.digest = body.digest
);

-- name: began
INSERT INTO hansard_turn (number, digest, seq) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING;

-- name: create
INSERT INTO hansard_conversation (
    name, incarnation, parent, parting, seq, head, spans, run_first, run_size
) VALUES (%s, %s, %s, %s, %s, %s, %s::int8multirange, %s, 0)
ON CONFLICT (name) DO NOTHING RETURNING number;

-- name: move
UPDATE hansard_conversation SET
    seq = %s, head = %s, spans = %s::int8multirange, run_first = %s, run_size = %s,
    fence = %s, owner = %s, until_s = %s
WHERE number = %s;

-- name: lease
UPDATE hansard_conversation SET fence = %s, owner = %s, until_s = %s WHERE number = %s;

-- name: head
SELECT head, incarnation FROM hansard_conversation WHERE name = %s;

-- name: read
-- The first row says where the conversation stands, and in flags whether it is a fork: then there
-- is more to be read than this. The others are pages, in their order.
WITH stands AS MATERIALIZED (
    SELECT number, parent, head, incarnation,
        coalesce(%(spans)s::int8multirange, spans) AS spans
    FROM hansard_conversation WHERE name = %(name)s
)
SELECT NULL::bigint AS start, NULL::bigint AS first, NULL::bigint AS next,
    (parent IS NOT NULL)::integer AS flags, head AS meta,
    convert_to(incarnation, 'UTF8') AS body, NULL::bytea[] AS digests
FROM stands
UNION ALL
SELECT 0, page.first, page.next, page.flags, page.meta, page.body,
    CASE WHEN page.flags & 8 <> 0 THEN ARRAY(
        SELECT digest FROM hansard_reference AS each
        WHERE each.number = page.number AND each.next = page.next
    ) END
FROM stands JOIN hansard_page AS page
    ON page.number = stands.number AND page.next > lower(stands.spans)
    AND int8range(page.first, page.next) && stands.spans
WHERE stands.parent IS NULL
ORDER BY next NULLS FIRST;

-- name: read_fork
-- As `read`, of all that a conversation stems from too. OFFSET 0
-- has each step look up what the one before gave, however many of them the planner expects.
WITH RECURSIVE stands AS MATERIALIZED (
    SELECT number, parent, parting, seq, head, incarnation,
        coalesce(%(spans)s::int8multirange, spans) AS spans
    FROM hansard_conversation WHERE name = %(name)s
), line AS (
    SELECT number, parent, coalesce(parting, 0) AS start, seq AS until FROM stands
    UNION ALL
    SELECT older.number, older.parent, older.start, line.start
    FROM line CROSS JOIN LATERAL (
        SELECT number, parent, coalesce(parting, 0) AS start FROM hansard_conversation
        WHERE number = line.parent OFFSET 0
    ) AS older
    WHERE line.parent IS NOT NULL
)
SELECT NULL::bigint AS start, NULL::bigint AS first, NULL::bigint AS next, 0::smallint AS flags,
    head AS meta, convert_to(incarnation, 'UTF8') AS body, NULL::bytea[] AS digests
FROM stands
UNION ALL
SELECT line.start, page.*
FROM stands CROSS JOIN line CROSS JOIN LATERAL (
    SELECT first, next, flags, meta, body,
        CASE WHEN flags & 8 <> 0 THEN ARRAY(
            SELECT digest FROM hansard_reference AS each
            WHERE each.number = kept.number AND each.next = kept.next
        ) END
    FROM hansard_page AS kept
    WHERE number = line.number AND next > line.start AND next > lower(stands.spans)
        AND first < line.until
        AND int8range(first, least(next, line.until)) && stands.spans
    OFFSET 0
) AS page
ORDER BY start NULLS FIRST, next;

-- name: bodies
SELECT digest, content FROM hansard_body WHERE digest = ANY(%s::bytea[]);

-- name: kept
SELECT count(*), coalesce(sum(octet_length(content)), 0)::bigint FROM hansard_body;

-- name: find
-- Where the last turn of an id began, in a conversation or in what it stems from.
WITH RECURSIVE line AS (
    SELECT number, parent, coalesce(parting, 0) AS start, seq AS until
    FROM hansard_conversation WHERE name = %(name)s
    UNION ALL
    SELECT older.number, older.parent, older.start, line.start
    FROM line CROSS JOIN LATERAL (
        SELECT number, parent, coalesce(parting, 0) AS start FROM hansard_conversation
        WHERE number = line.parent OFFSET 0
    ) AS older
    WHERE line.parent IS NOT NULL
)
SELECT max((
    SELECT max(seq) FROM hansard_turn
    WHERE number = line.number AND digest = %(digest)s::bytea AND seq < line.until
)) FROM line;

-- name: list
SELECT name, incarnation, seq, title, user_name, tags FROM hansard_conversation
WHERE name >= %(prefix)s AND (%(below)s::text IS NULL OR name < %(below)s)
    AND name > %(after)s
    AND (%(user)s = '' OR user_name = %(user)s)
    AND (%(title)s = '' OR title = %(title)s)
    AND tags @> %(tags)s::text[]
ORDER BY name LIMIT %(limit)s;

-- name: describe
UPDATE hansard_conversation SET title = %s, user_name = %s, tags = %s WHERE name = %s
RETURNING number;

-- name: line
WITH RECURSIVE line AS (
    SELECT number, parent, parting, 0 AS depth FROM hansard_conversation WHERE number = %s
    UNION ALL
    SELECT older.number, older.parent, older.parting, depth + 1
    FROM line CROSS JOIN LATERAL (
        SELECT number, parent, parting FROM hansard_conversation
        WHERE number = line.parent OFFSET 0
    ) AS older
    WHERE line.parent IS NOT NULL
)
SELECT number, parent, parting FROM line ORDER BY depth;

-- name: forget
UPDATE hansard_conversation SET name = NULL, title = '', user_name = '', tags = '{}'
WHERE name = %s RETURNING number;

-- name: nameless
SELECT parent FROM hansard_conversation WHERE number = %s AND name IS NULL FOR UPDATE;

-- name: reach
SELECT max(parting) FROM hansard_conversation WHERE parent = %s;

-- name: prune_pages
-- What they refer to is given.
WITH gone AS (
    DELETE FROM hansard_page WHERE number = %s AND first >= %s RETURNING number, next
)
DELETE FROM hansard_reference AS each USING gone
WHERE each.number = gone.number AND each.next = gone.next RETURNING each.digest;

-- name: prune_turns
DELETE FROM hansard_turn WHERE number = %s AND seq >= %s;

-- name: drop
DELETE FROM hansard_conversation WHERE number = %s;

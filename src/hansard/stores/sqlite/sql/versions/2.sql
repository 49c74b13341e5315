CREATE INDEX conversation_by_user ON conversation (user, name) WHERE name IS NOT NULL;

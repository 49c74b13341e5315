CREATE INDEX hansard_conversation_by_user ON hansard_conversation (user_name, name)
WHERE name IS NOT NULL;

-- CreateIndex
CREATE INDEX CONCURRENTLY "personal_access_tokens_created_at_idx" ON "personal_access_tokens"("created_at");

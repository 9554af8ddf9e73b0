-- CreateIndex
CREATE INDEX CONCURRENTLY "sessions_created_at_idx" ON "sessions"("created_at");

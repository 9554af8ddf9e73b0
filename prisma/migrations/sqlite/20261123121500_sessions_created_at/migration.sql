-- CreateIndex
CREATE INDEX "sessions_created_at_idx" ON "sessions"("created_at");

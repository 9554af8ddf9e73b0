-- Oldest version: 0.1.0
CREATE INDEX CONCURRENTLY "users_username_idx" ON "users"("username");

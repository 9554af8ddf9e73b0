-- Oldest version: 0.1.0
CREATE INDEX "users_username_idx" ON "users"("username");

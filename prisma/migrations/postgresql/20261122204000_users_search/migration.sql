-- svc finds users by the start of their address or name. Prisma's models cannot express indexes on expressions.
CREATE INDEX "users_lower_email_idx" ON "users"(lower("email") text_pattern_ops);

-- CreateIndex
CREATE INDEX "users_lower_name_idx" ON "users"(lower("name") text_pattern_ops);

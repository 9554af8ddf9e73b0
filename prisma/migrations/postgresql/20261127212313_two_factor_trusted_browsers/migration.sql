-- Oldest version: 0.1.0
-- CreateTable
CREATE TABLE "trusted_browsers" (
    "id" BIGSERIAL NOT NULL,
    "user_id" BIGINT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "password_mark" TEXT,
    "factor_confirmed_at" TIMESTAMP(3) NOT NULL,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "last_used_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "trusted_browsers_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "trusted_browsers_user_id_idx" ON "trusted_browsers"("user_id");

-- CreateIndex
CREATE INDEX "trusted_browsers_expires_at_idx" ON "trusted_browsers"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "trusted_browsers_token_hash_user_id_key" ON "trusted_browsers"("token_hash", "user_id");

-- AddForeignKey
ALTER TABLE "trusted_browsers" ADD CONSTRAINT "trusted_browsers_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

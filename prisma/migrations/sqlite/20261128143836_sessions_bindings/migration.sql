-- Oldest version: 0.1.0
-- AlterTable
ALTER TABLE "personal_access_tokens" ADD COLUMN "key_thumbprint" TEXT;

-- AlterTable
ALTER TABLE "remember_tokens" ADD COLUMN "binding_id" TEXT;

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "binding_id" TEXT;
ALTER TABLE "sessions" ADD COLUMN "bound_at" DATETIME;

-- CreateTable
CREATE TABLE "session_bindings" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "user_id" INTEGER NOT NULL,
    "session_id" TEXT NOT NULL,
    "remember_token_id" INTEGER,
    "public_key" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL,
    "proved_at" DATETIME NOT NULL,
    CONSTRAINT "session_bindings_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "session_bindings_user_id_idx" ON "session_bindings"("user_id");

-- Oldest version: 0.1.0
-- AlterTable
ALTER TABLE "personal_access_tokens" ADD COLUMN     "key_thumbprint" TEXT;

-- AlterTable
ALTER TABLE "remember_tokens" ADD COLUMN     "binding_id" TEXT;

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "binding_id" TEXT,
ADD COLUMN     "bound_at" TIMESTAMP(3);

-- CreateTable
CREATE TABLE "session_bindings" (
    "id" TEXT NOT NULL,
    "user_id" BIGINT NOT NULL,
    "session_id" TEXT NOT NULL,
    "remember_token_id" BIGINT,
    "public_key" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "proved_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "session_bindings_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "session_bindings_user_id_idx" ON "session_bindings"("user_id");

-- AddForeignKey
ALTER TABLE "session_bindings" ADD CONSTRAINT "session_bindings_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AlterTable
ALTER TABLE "outbox" ADD COLUMN     "user_id" BIGINT;

-- CreateIndex
CREATE INDEX "outbox_user_id_idx" ON "outbox"("user_id");

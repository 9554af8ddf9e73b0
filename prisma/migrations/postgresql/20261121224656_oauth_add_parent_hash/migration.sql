-- AlterTable
ALTER TABLE "oauth_records" ADD COLUMN     "parent_hash" TEXT;

-- CreateIndex
CREATE INDEX "oauth_records_parent_hash_idx" ON "oauth_records"("parent_hash");
